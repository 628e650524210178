/** The turn that `send` returns: its events, past and live, its state at rest, and its result. */

import type { OutputInterface } from "ai";
import {
  defined,
  TurnlogError,
  type EventLog,
  type SessionEvent,
  type StoredError,
} from "../../events/index.ts";
import { isTooLarge, overflowOf } from "../../projections/index.ts";
import { parsedOutput, type ParsedOutput } from "../../agent/index.ts";
import { withFullStop } from "../../shared/index.ts";
import type { Rewound } from "../../commands/index.ts";
import {
  failureDetails,
  type TurnOutcome,
  type TurnResult,
  type TurnStart,
  type TurnWait,
} from "./turn-outcome.ts";

/** How a turn rests: it has ended, waits for approvals or outputs, or its message is held. */
type TurnRest<OUTPUT = unknown> =
  | { readonly kind: "ended"; readonly result: TurnResult<OUTPUT> }
  | TurnWait;

/**
 * The turn that delivers a message: its events, past and then live, and its result.
 * @example
 * const turn: Turn = await session.send("Which tests failed?");
 * for await (const event of turn)
 *   if (event.type === "part.text-delta") process.stdout.write(event.data.text);
 */
export interface Turn<OUTPUT = unknown, PARTIAL = unknown> extends AsyncIterable<SessionEvent> {
  /** The id of the message. */
  readonly messageId: string;
  /** Whether the message was queued behind a running turn. */
  readonly queued: boolean;
  /** The position of the message's `message.queued`. */
  readonly queuePosition: number;
  /**
   * Resolves when the message is delivered, with the position of its `message.delivered` and the turn's number.
   * @throws TurnlogError `COMMAND_REFUSED` if the message was withdrawn, `SESSION_FAILED`, `RUNTIME_CLOSED`
   */
  readonly started: Promise<TurnStart>;
  /**
   * What an edit (`send` with `replaces`) or `regenerate` left behind to run this turn: turns, effects in the
   * world and cost, in the form that `rewind` returns. Undefined for a turn that replaces nothing.
   */
  readonly replaced: Promise<Rewound | undefined>;
  /**
   * How the turn ended; cancelled and interrupted turns have a result too. Never reported as an unhandled
   * rejection.
   * @throws TurnlogError `TURN_FAILED` (with the provider's error as `cause`), `OUTPUT_INVALID` if the text is
   * not the requested output (`details.result` has the text), `COMMAND_REFUSED` if the message was withdrawn,
   * `SESSION_FAILED` if the log refused an event
   */
  readonly result: Promise<TurnResult<OUTPUT>>;
  /**
   * The structured output while it streams, not validated. After calls, the next step starts over. Past values
   * come first, then live ones.
   * @throws TurnlogError `INVALID_INPUT` if the turn has no `output`, and as `result`
   */
  readonly partialOutputs: AsyncIterable<PARTIAL>;
  /** The elements of `Output.array`, each once it is complete and valid. Otherwise as `partialOutputs`. */
  readonly elements: AsyncIterable<ElementOf<PARTIAL>>;
  /**
   * Resolves when the turn has ended, or waits for people or clients. For servers that answer before people do.
   * @throws TurnlogError as `result`
   */
  untilRest(): Promise<TurnRest<OUTPUT>>;
  /**
   * The events from the delivery of the message to the end of its turn: past, then live.
   * @throws TurnlogError `SESSION_FAILED` if the log refused an event before that end
   */
  [Symbol.asyncIterator](): AsyncIterator<SessionEvent>;
}

export interface TurnOptions<OUTPUT, PARTIAL> {
  readonly session: string;
  readonly messageId: string;
  readonly queued: boolean;
  readonly queuePosition: number;
  /** The position from which on the turn is looked for. */
  readonly from: number;
  readonly log: EventLog;
  /** The output of `send`; undefined if it gave none. */
  readonly output: OutputInterface<OUTPUT, PARTIAL> | undefined;
  readonly agentOutput: () => Promise<OutputInterface<unknown, PARTIAL> | undefined>;
  /** Each of the following rejects with the session's failure. */
  readonly outcome: () => Promise<TurnOutcome>;
  readonly start: () => Promise<TurnStart | "withdrawn">;
  readonly replaced: () => Promise<Rewound | undefined>;
  readonly rest: () => Promise<TurnOutcome | TurnWait>;
}

export function createTurn<OUTPUT, PARTIAL>(
  options: TurnOptions<OUTPUT, PARTIAL>,
): Turn<OUTPUT, PARTIAL> {
  const { messageId, queued, queuePosition } = options;
  return {
    messageId,
    queued,
    queuePosition,
    get started() {
      return quiet(started(options));
    },
    get replaced() {
      return quiet(options.replaced());
    },
    get result() {
      return quiet(options.outcome().then((outcome) => resultOf(options, outcome)));
    },
    get partialOutputs() {
      return partialsOf(options);
    },
    get elements() {
      return outputElements(partialsOf(options));
    },
    untilRest: () => quiet(untilRest(options)),
    [Symbol.asyncIterator]: () => turnEvents(options),
  };
}

type AnyTurnOptions = Omit<TurnOptions<unknown, unknown>, "output" | "agentOutput">;

/** The same promise, whose rejection is never reported as unhandled. */
function quiet<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}

async function* partialsOf<OUTPUT, PARTIAL>(
  options: TurnOptions<OUTPUT, PARTIAL>,
): AsyncGenerator<PARTIAL, void, void> {
  const output = options.output ?? (await options.agentOutput());
  yield* partialOutputs(options.session, output, turnEvents(options));
}

async function started(options: AnyTurnOptions): Promise<TurnStart> {
  const start = await options.start();
  if (start === "withdrawn") throw withdrawn(options);
  return start;
}

async function untilRest<OUTPUT, PARTIAL>(
  options: TurnOptions<OUTPUT, PARTIAL>,
): Promise<TurnRest<OUTPUT>> {
  const rest = await options.rest();
  if (rest.kind === "waiting" || rest.kind === "held") return rest;
  return { kind: "ended", result: await resultOf(options, rest) };
}

async function resultOf<OUTPUT, PARTIAL>(
  options: TurnOptions<OUTPUT, PARTIAL>,
  outcome: TurnOutcome,
): Promise<TurnResult<OUTPUT>> {
  const { session } = options;
  switch (outcome.kind) {
    case "ended": {
      const { result } = outcome;
      const parsed = await outputOf(options, outcome);
      if (parsed?.error !== undefined) throw outputInvalid(options, result, parsed.error);
      const { value: output, repaired } = parsed ?? {};
      return Object.freeze({ ...result, output, ...defined({ repaired }) });
    }
    case "failed":
      throw new TurnlogError(
        "TURN_FAILED",
        `Turn ${outcome.result.turn} of session ${session} failed: ${reasonOf(outcome.error)} ${nextStep(outcome.error)}`,
        {
          session,
          cause: outcome.error,
          details: { result: outcome.result, ...failureDetails(outcome) },
        },
      );
    case "withdrawn":
      throw withdrawn(options);
  }
}

/** Parsed by the message's own `output`, whose type the caller expects; else as recorded. */
async function outputOf<OUTPUT, PARTIAL>(
  { output: own }: TurnOptions<OUTPUT, PARTIAL>,
  { result, output: recorded }: Extract<TurnOutcome, { readonly kind: "ended" }>,
): Promise<ParsedOutput<OUTPUT> | undefined> {
  if (own !== undefined)
    return result.finishReason === "stop" || recorded !== undefined
      ? await parsedOutput(own, result.text)
      : undefined;
  // Without an `output` of its own, the type is unknown.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return recorded as ParsedOutput<OUTPUT> | undefined;
}

function outputInvalid(
  { session }: AnyTurnOptions,
  result: { readonly turn: number },
  error: StoredError,
): TurnlogError {
  return new TurnlogError(
    "OUTPUT_INVALID",
    `The text of turn ${result.turn} of session ${session} is not the requested output: ${withFullStop(error.message)} It is kept (\`details.result.text\`); send again to ask for a correction.`,
    { session, cause: error, details: { result } },
  );
}

/** Some answers of providers are empty: then the status is all that is known. */
function reasonOf({ name, message, statusCode }: StoredError): string {
  if (message.trim() !== "") return withFullStop(message);
  const status = typeof statusCode === "number" ? `, HTTP ${statusCode}` : "";
  return `The error has no message (${name}${status}).`;
}

function nextStep(error: StoredError): string {
  if (overflowOf(error) === undefined && !isTooLarge(error))
    return "Everything before it is kept; send again to continue.";
  return "The prompt is too long for the model, whatever else is left out. Everything before it is kept; send a shorter message to continue, and the message that did not fit is left out.";
}

export function withdrawn({
  session,
  messageId,
}: Pick<AnyTurnOptions, "session" | "messageId">): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Message ${messageId} of session ${session} was withdrawn before it was delivered.`,
    { session },
  );
}

function turnEvents({
  session,
  messageId,
  from,
  log,
  outcome,
}: AnyTurnOptions): AsyncGenerator<SessionEvent> {
  // A failed log sends its subscribers nothing more, so the session's failure ends the iteration.
  const failed = new AbortController();
  const ended = outcome();
  ended.catch(() => {
    failed.abort();
  });
  const events = log.subscribe(session, { from, signal: failed.signal });
  return eventsOfTurn(events, messageId, async () => {
    if (failed.signal.aborted) await ended;
  });
}

/**
 * The events of the turn that delivers a message, up to its end or the message's withdrawal.
 * @param events - Of the session, from the message's `message.queued` on.
 * @param cutOff - Called if they end before the turn does.
 */
export async function* eventsOfTurn(
  events: AsyncIterable<SessionEvent>,
  messageId: string,
  cutOff?: () => Promise<void>,
): AsyncGenerator<SessionEvent, void, void> {
  let turn: number | undefined;
  // `turn.started` precedes the delivery that identifies the turn.
  let start: SessionEvent<"turn.started"> | undefined;
  for await (const event of events) {
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
  await cutOff?.();
}

// Partial outputs and elements of a turn while its text streams, read from its events.

/** An element of an array output. */
type ElementOf<PARTIAL> = PARTIAL extends readonly (infer Element)[] ? Element : never;

/**
 * The partial output after each delta that changes it. A new step or attempt starts over.
 * @throws TurnlogError `INVALID_INPUT` if neither the message nor the agent has an `output`
 */
async function* partialOutputs<PARTIAL>(
  session: string,
  output: OutputInterface<unknown, PARTIAL> | undefined,
  events: AsyncIterable<SessionEvent>,
): AsyncGenerator<PARTIAL, void, void> {
  if (output === undefined) throw withoutOutput(session);
  let text = "";
  let goesOn = false;
  let last: string | undefined;
  for await (const event of events) {
    // Another model continues what was said, if anything was.
    if (event.type === "step.failed-over") goesOn = true;
    if (event.type === "step.started" && !goesOn) text = "";
    if (event.type === "step.started") goesOn = false;
    if (event.type !== "part.text-delta") continue;
    text += event.data.text;
    const parsed = await output.parsePartialOutput({ text });
    if (parsed === undefined) continue;
    const shown = JSON.stringify(parsed.partial);
    if (shown === last) continue;
    last = shown;
    yield parsed.partial;
  }
}

/** Each element of an array output, once it is complete. */
export async function* outputElements<PARTIAL>(
  partials: AsyncIterable<PARTIAL>,
): AsyncGenerator<ElementOf<PARTIAL>, void, void> {
  let given = 0;
  for await (const partial of partials) {
    const elements = elementsOf(partial);
    for (const element of elements.slice(given)) yield element;
    given = Math.max(given, elements.length);
  }
}

/** None if it is no list. */
function elementsOf<PARTIAL>(partial: PARTIAL): readonly ElementOf<PARTIAL>[] {
  return Array.isArray(partial) ? (partial as readonly ElementOf<PARTIAL>[]) : [];
}

function withoutOutput(session: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `This turn of session ${session} has no \`output\`: give one to \`send\` or to the agent. Its text comes as \`part.text-delta\` events.`,
    { session, details: { option: "output" } },
  );
}
