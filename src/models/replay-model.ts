/** A language model that answers from a log with the parts that the provider sent. Public in `turnlog/testing`. */

import {
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
  APICallError,
} from "@ai-sdk/provider";
import {
  TurnlogError,
  type SessionEvent,
  storedErrorSchema,
  type JsonValue,
  type StoredError,
} from "../events/index.ts";
import { gatherParts, streamParts } from "./gathered-parts.ts";
import {
  recordedCalls,
  type RecordedCall,
  type StepEnd,
  replayedFinish,
  replayedPart,
  replayedResponse,
  writtenInputs,
} from "./replayed-parts.ts";
import { setTimeout as delay } from "node:timers/promises";
import { check, code, implementation, milliseconds, optionsOf } from "../validation/index.ts";

/** A `LanguageModelV4` that remembers its calls. */
export interface ReplayModel extends LanguageModelV4 {
  /** The options of every call so far. */
  readonly calls: readonly LanguageModelV4CallOptions[];
}

/**
 * Makes a model from a session's events, with the name of the recorded model. Refusals and broken streams are
 * replayed too; a stream that was cancelled hangs until it is cancelled again. A pace that knows its position
 * determines which step answers a call; without one, calls are answered in the recorded order.
 * @param events - All events of a session, or those from any `step.started` on.
 * @example
 * const agent: Agent = { model: replayModel(events), tools: replayTools(events, tools) };
 * @throws TurnlogError `INVALID_INPUT` from the call for which the log has no step left.
 */
export function replayModel(
  events: readonly SessionEvent[],
  pace: ReplayPace = atOnce,
): ReplayModel {
  const recorded = recordedCalls(events);
  const calls: LanguageModelV4CallOptions[] = [];

  async function nextParts(options: LanguageModelV4CallOptions) {
    const asked = calls.push(options);
    const { position } = pace;
    // By the step that has begun: a step that was stopped before its model call makes no call in the replay.
    const call =
      position === undefined
        ? recorded[asked - 1]
        : recorded.findLast(({ started }) => started.position <= position);
    if (call === undefined) throw runOut(calls.length, recorded.length);
    options.abortSignal?.throwIfAborted();
    const [first, second] = call.parts;
    // Nothing else was streamed: the call itself was refused.
    if (first?.type === "part.error" && second === undefined) {
      await pace.due(first.position);
      throw errorOf(call, first);
    }
    return streamParts(partsOf(call, pace), options.abortSignal);
  }

  return {
    specificationVersion: "v4",
    ...nameOf(events),
    // A replay fetches no URLs: the recorded model has already read their content.
    supportedUrls: { "*/*": [/^/] },
    calls,
    doStream: async (options) => ({ stream: await nextParts(options) }),
    doGenerate: async (options) => gatherParts(await nextParts(options)),
  };
}

async function* partsOf(
  call: RecordedCall,
  pace: ReplayPace,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const { parts, end, endsAt } = call;
  const inputs = writtenInputs(parts);
  const finish = end === undefined ? undefined : replayedFinish(end);
  for (const event of parts) {
    if (event.type === "part.error") {
      await pace.due(event.position);
      const error = errorOf(call, event);
      // An error inside the stream did not end it.
      if (event === parts.at(-1) && finish === undefined) throw error;
      yield { type: "error", error };
      continue;
    }
    const part = replayedPart(event, inputs);
    if (part === undefined) continue;
    await pace.due(event.position);
    yield part;
    if (event.type !== "part.start-step" || end?.type !== "step.finished") continue;
    const response = replayedResponse(end);
    if (response !== undefined) yield response;
  }
  if (endsAt === undefined || hangs(call)) await new Promise<never>(() => {});
  else await pace.due(endsAt);
  if (finish !== undefined) yield finish;
}

/**
 * A replay does not wait before another attempt. After a final failure the recorded delay stays: it was
 * too long to wait.
 */
function errorOf({ end }: RecordedCall, { data }: SessionEvent<"part.error">): Error {
  return recordedError(data.error, end?.type === "step.failed");
}

/** A stream that was cancelled, timed out or ended with its process hangs until the same happens again. */
function hangs({ end, endsAt, parts }: RecordedCall): boolean {
  if (end !== undefined && wasLate(end, parts)) return true;
  // Skipped calls are the beginning of an end that the process did not finish recording.
  const isEnding = endsAt !== end?.position;
  return (end === undefined || end.type === "step.interrupted") && !isEnding;
}

/** Whether a time limit ended the call. An error of the provider with the same name is one of its parts. */
function wasLate(end: StepEnd, parts: readonly SessionEvent[]): boolean {
  const isFailure = end.type === "step.failed" || end.type === "step.retrying";
  if (!isFailure || end.data.kind !== "timeout" || end.data.error.name !== "TimeoutError")
    return false;
  const last = parts.findLast((part) => part.type === "part.error");
  return last?.data.error.message !== end.data.error.message;
}

/** The recorded model: its name is part of the agent. */
function nameOf(events: readonly SessionEvent[]): {
  readonly provider: string;
  readonly modelId: string;
} {
  for (const event of events) {
    if (event.type === "session.created" || event.type === "session.configured") {
      return event.data.agent.model;
    }
    if (event.type === "session.forked" && event.data.agent !== undefined) {
      return event.data.agent.model;
    }
    if (event.type === "step.started") return event.data.model;
  }
  return { provider: "turnlog", modelId: "replay" };
}

function runOut(call: number, steps: number): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `This is call ${call} of the replay model, but the log has only ${steps} model calls: this run makes more calls than the recorded one.`,
    { details: { call, steps } },
  );
}

// Restores an error from the log; recorded again, it differs only in its stack.

/** A provider's error becomes an `APICallError` again; `keepsDelay`: with the retry delay that it asked for. */
export function recordedError(stored: StoredError, keepsDelay = false): Error {
  const { name, message, stack: _, ...own } = stored;
  const { cause } = own;
  const fields = cause === undefined ? own : { ...own, cause: recordedCause(cause) };
  if (name === "AI_APICallError") {
    const { url, isRetryable, statusCode, responseBody } = own;
    return new APICallError({
      message,
      url: typeof url === "string" ? url : "",
      requestBodyValues: {},
      responseHeaders: keepsDelay ? tooLong(headersOf(own)) : { "retry-after-ms": "0" },
      isRetryable: isRetryable === true,
      ...(typeof statusCode === "number" ? { statusCode } : {}),
      ...(typeof responseBody === "string" ? { responseBody } : {}),
      ...("cause" in fields ? { cause: fields.cause } : {}),
      ...("data" in own ? { data: own["data"] } : {}),
    });
  }
  const error = Object.assign(new Error(message), fields);
  Object.defineProperty(error, "name", { value: name, enumerable: false, configurable: true });
  return error;
}

/** A cause may be any value; one in the form of an error becomes an error again. */
function recordedCause(cause: JsonValue): unknown {
  const stored = storedErrorSchema.safeParse(cause);
  return stored.success ? recordedError(stored.data) : cause;
}

/** Too long for every agent, as it was for the recorded one, whose patience the log does not tell. */
function tooLong(headers: Record<string, string>): Record<string, string> {
  const asks = Object.keys(headers).some((name) => name.startsWith("retry-after"));
  return asks ? { ...headers, "retry-after-ms": String(Number.MAX_SAFE_INTEGER) } : headers;
}

function headersOf({ responseHeaders }: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(responseHeaders ?? {}).map(([name, value]) => [name, String(value)]),
  );
}

// The pace of a replay: the recorded times of the events, a multiple of it, or no waiting.

/** Decides when a recorded event may happen again. */
export interface ReplayPace {
  /** Resolves when everything before this position has happened again; for a call that ends, but for other calls. Rejects to end the replay. */
  due(position: number, callId?: string): Promise<void>;
  /** The position that the replay has reached. If it is absent, calls are answered in the recorded order. */
  readonly position?: number;
  /** Whether the event at a position has happened: some happen before an earlier one. */
  hasHappened?(position: number): boolean;
}

export const atOnce: ReplayPace = { due: () => Promise.resolve() };

/** Without waiting, in recorded time, or faster by a factor. */
export type Pace = "at-once" | "recorded" | number;

export interface PaceTime {
  /** Milliseconds since any fixed time. */
  now(): number;
  wait(milliseconds: number): Promise<void>;
}

interface PaceOptions {
  /** The clock. Default: real time. */
  readonly time?: PaceTime;
  /** Most milliseconds of a gap between two events. Default: no limit. */
  readonly longestMs?: number;
}

const schema = optionsOf<PaceOptions>(
  { time: implementation({ now: code, wait: code }), longestMs: milliseconds },
  {},
);

const realTime: PaceTime = {
  now: () => performance.now(),
  wait: async (milliseconds) => {
    await delay(milliseconds);
  },
};

/**
 * The pace of a recording. Its time begins with the first awaited position.
 * @param events - All events in order, without a gap.
 * @example
 * const pace = recordedPace(events, 10); // ten times as fast
 * const model = replayModel(events, pace);
 * @throws TurnlogError `INVALID_INPUT` for a factor that is not above 0
 */
export function recordedPace(
  events: readonly SessionEvent[],
  pace: Pace = "recorded",
  options: PaceOptions = {},
): ReplayPace {
  check(schema, options, "recordedPace", { name: "options" });
  const { time = realTime, longestMs = Number.POSITIVE_INFINITY } = options;
  if (pace === "at-once") return atOnce;
  const factor = pace === "recorded" ? 1 : pace;
  if (!(factor > 0 && Number.isFinite(factor))) {
    throw new TurnlogError("INVALID_INPUT", `A pace is a factor above 0, and not ${factor}.`);
  }
  const dues = dueTimes(events, factor, longestMs);
  const first = events[0]?.position ?? 1;
  let start: number | undefined;
  return {
    async due(position) {
      const due = dues[position - first];
      if (due === undefined) return;
      start ??= time.now() - due;
      const left = start + due - time.now();
      if (left > 0) await time.wait(left);
    },
  };
}

/** Milliseconds from the first event to each. A clock that was set back counts as no gap. */
function dueTimes(
  events: readonly SessionEvent[],
  factor: number,
  longestMs: number,
): readonly number[] {
  let due = 0;
  return events.map(({ time: at }, index) => {
    const gap = Math.max(0, at - (events[index - 1]?.time ?? at)) / factor;
    due += Math.min(gap, longestMs);
    return due;
  });
}
