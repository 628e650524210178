/** What `send` answers: the events of the turn that takes the message up, and how it ended. */

import type { EventLog, SessionEvent, StoredError } from "../events/index.ts";
import { TurnlogError } from "../events/index.ts";
import { isTooLarge, overflowOf } from "../projections/index.ts";
import { withFullStop } from "./full-stop.ts";
import type { TurnOutcome, TurnResult } from "./turn-outcome.ts";

/** The turn that takes a message up: its events, those that were and then live, and its result. */
export interface Turn extends AsyncIterable<SessionEvent> {
  /** The id of the message. */
  readonly messageId: string;
  /** Whether the message had to wait because the session was running. */
  readonly queued: boolean;
  /** The position at which the message was accepted. */
  readonly position: number;
  /**
   * How the turn ended. Cancelled and interrupted turns have a result too.
   * @throws TurnlogError `TURN_FAILED` (with the provider's error as `cause`), `COMMAND_REFUSED`
   * when the message was withdrawn, `SESSION_FAILED` when the log gave up.
   */
  readonly result: Promise<TurnResult>;
  /**
   * The events from the delivery of the message to the end of its turn: those that were, then live.
   * @throws TurnlogError `SESSION_FAILED` when the log gave up before that end.
   */
  [Symbol.asyncIterator](): AsyncIterator<SessionEvent>;
}

export interface TurnOptions {
  readonly session: string;
  readonly messageId: string;
  readonly queued: boolean;
  readonly position: number;
  readonly log: EventLog;
  /** Resolves when it has ended; rejects with the session's failure. */
  readonly outcome: () => Promise<TurnOutcome>;
}

export function createTurn(options: TurnOptions): Turn {
  const { messageId, queued, position } = options;
  return {
    messageId,
    queued,
    position,
    get result() {
      return result(options);
    },
    [Symbol.asyncIterator]: () => turnEvents(options),
  };
}

async function result({ session, messageId, outcome }: TurnOptions): Promise<TurnResult> {
  const ended = await outcome();
  switch (ended.kind) {
    case "ended":
      return ended.result;
    case "failed":
      throw new TurnlogError(
        "TURN_FAILED",
        `Turn ${ended.result.turn} of session ${session} failed: ${withFullStop(ended.error.message)} ${nextStep(ended.error)}`,
        { session, cause: ended.error, details: { result: ended.result } },
      );
    case "withdrawn":
      throw new TurnlogError(
        "COMMAND_REFUSED",
        `Message ${messageId} of session ${session} was withdrawn before it was delivered.`,
        { session },
      );
  }
}

function nextStep(error: StoredError): string {
  if (overflowOf(error) === undefined && !isTooLarge(error))
    return "What came before is kept; send again to go on.";
  return "The prompt is longer than the model takes, whatever else is left out. What came before is kept; send a shorter message to go on: what could not be sent is left out then.";
}

async function* turnEvents({
  session,
  messageId,
  position,
  log,
  outcome,
}: TurnOptions): AsyncGenerator<SessionEvent> {
  // A log that has given up tells its subscribers nothing more; the session knows that it has.
  const over = new AbortController();
  const ended = outcome();
  ended.catch(() => {
    over.abort();
  });
  let turn: number | undefined;
  // A turn's start comes before the delivery that tells whether it is ours.
  let start: SessionEvent<"turn.started"> | undefined;
  for await (const event of log.subscribe(session, { from: position, signal: over.signal })) {
    if (turn !== undefined) {
      yield event;
      if (event.type === "turn.ended" && event.data.turn === turn) return;
    } else if (event.type === "turn.started") {
      start = event;
    } else if (event.type === "message.delivered" && event.data.ids.includes(messageId)) {
      turn = event.data.turn;
      if (start?.data.turn === turn) yield start;
      yield event;
    } else if (event.type === "message.withdrawn" && event.data.ids.includes(messageId)) {
      yield event;
      return;
    }
  }
  if (over.signal.aborted) await ended;
}
