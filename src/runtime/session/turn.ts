/** What `send` answers: the events of the turn that delivers the message, where it stands, and how it ended. */

import {
  TurnlogError,
  type EventLog,
  type SessionEvent,
  type StoredError,
} from "../../events/index.ts";
import { isTooLarge, overflowOf } from "../../projections/index.ts";
import type { Approval } from "../../state/index.ts";
import { withFullStop } from "../../shared/index.ts";
import type { TurnOutcome, TurnResult } from "./turn-outcome.ts";
import type { TurnStart } from "./turn-rest.ts";

/** How a message and its turn stand when nothing goes on by itself. */
export type TurnRest =
  /** The turn has ended. */
  | { readonly kind: "ended"; readonly result: TurnResult }
  /** A turn of the session waits for the answers to these: `session.approve(approvalId)`, `session.deny(approvalId)`. */
  | { readonly kind: "waiting"; readonly approvals: readonly Approval[] }
  /** The message waits behind a cancelled, failed or interrupted turn, until `session.resume()`. */
  | { readonly kind: "held" };

/** The turn that delivers a message: its events, past and then live, and its result. */
export interface Turn extends AsyncIterable<SessionEvent> {
  /** The id of the message. */
  readonly messageId: string;
  /** Whether the message had to wait because the session was running. */
  readonly queued: boolean;
  /** The position of the message's `message.queued`. */
  readonly queuePosition: number;
  /**
   * Resolves when the message is delivered: with the position of its `message.delivered`, and the turn's number.
   * @throws TurnlogError `COMMAND_REFUSED` when the message was withdrawn, `SESSION_FAILED`, `RUNTIME_CLOSED`
   */
  readonly started: Promise<TurnStart>;
  /**
   * How the turn ended. Cancelled and interrupted turns have a result too. No rejection of it is
   * reported as unhandled: whoever does not await it does not want to know.
   * @throws TurnlogError `TURN_FAILED` (with the provider's error as `cause`), `COMMAND_REFUSED`
   * when the message was withdrawn, `SESSION_FAILED` when the log gave up.
   */
  readonly result: Promise<TurnResult>;
  /**
   * Resolves when nothing goes on by itself: the turn has ended, or people have to answer first. A
   * server that cannot wait for people answers with this.
   * @throws TurnlogError as `result`
   */
  untilRest(): Promise<TurnRest>;
  /**
   * The events from the delivery of the message to the end of its turn: past, then live.
   * @throws TurnlogError `SESSION_FAILED` when the log gave up before that end.
   */
  [Symbol.asyncIterator](): AsyncIterator<SessionEvent>;
}

export interface TurnOptions {
  readonly session: string;
  readonly messageId: string;
  readonly queued: boolean;
  readonly queuePosition: number;
  readonly log: EventLog;
  /** Each resolves when there is something to say; rejects with the session's failure. */
  readonly outcome: () => Promise<TurnOutcome>;
  readonly start: () => Promise<TurnStart | "withdrawn">;
  readonly rest: () => Promise<TurnOutcome | Exclude<TurnRest, { readonly kind: "ended" }>>;
}

export function createTurn(options: TurnOptions): Turn {
  const { messageId, queued, queuePosition } = options;
  return {
    messageId,
    queued,
    queuePosition,
    get started() {
      return quiet(started(options));
    },
    get result() {
      return quiet(options.outcome().then((outcome) => resultOf(options, outcome)));
    },
    untilRest: () => quiet(untilRest(options)),
    [Symbol.asyncIterator]: () => turnEvents(options),
  };
}

/** The same promise. Its rejection is told to whoever awaits it, and ends no process. */
function quiet<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}

async function started(options: TurnOptions): Promise<TurnStart> {
  const start = await options.start();
  if (start === "withdrawn") throw withdrawn(options);
  return start;
}

async function untilRest(options: TurnOptions): Promise<TurnRest> {
  const rest = await options.rest();
  if (rest.kind === "waiting" || rest.kind === "held") return rest;
  return { kind: "ended", result: resultOf(options, rest) };
}

function resultOf(options: TurnOptions, outcome: TurnOutcome): TurnResult {
  const { session } = options;
  switch (outcome.kind) {
    case "ended":
      return outcome.result;
    case "failed":
      throw new TurnlogError(
        "TURN_FAILED",
        `Turn ${outcome.result.turn} of session ${session} failed: ${withFullStop(outcome.error.message)} ${nextStep(outcome.error)}`,
        { session, cause: outcome.error, details: { result: outcome.result } },
      );
    case "withdrawn":
      throw withdrawn(options);
  }
}

function nextStep(error: StoredError): string {
  if (overflowOf(error) === undefined && !isTooLarge(error))
    return "What came before is kept; send again to go on.";
  return "The prompt is longer than the model takes, whatever else is left out. What came before is kept; send a shorter message to go on: what could not be sent is left out then.";
}

function withdrawn({ session, messageId }: TurnOptions): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Message ${messageId} of session ${session} was withdrawn before it was delivered.`,
    { session },
  );
}

async function* turnEvents({
  session,
  messageId,
  queuePosition,
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
  for await (const event of log.subscribe(session, { from: queuePosition, signal: over.signal })) {
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
