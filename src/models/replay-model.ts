/** A language model that answers from a log with the parts that the provider sent. Public in `turnlog/testing`. */

import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { TurnlogError, type SessionEvent } from "../events/index.ts";
import { gatherParts } from "./gathered-parts.ts";
import { atOnce, type ReplayPace } from "./pacing.ts";
import { streamParts } from "./part-stream.ts";
import { recordedError } from "./recorded-error.ts";
import { recordedCalls, type RecordedCall, type StepEnd } from "./recorded-step.ts";
import { replayedFinish, replayedPart, replayedResponse, writtenInputs } from "./replayed-parts.ts";

/** A `LanguageModelV4` that remembers its calls. */
export interface ReplayModel extends LanguageModelV4 {
  /** The options of every call so far. */
  readonly calls: readonly LanguageModelV4CallOptions[];
}

/**
 * Makes a model of a session's events, with the name of the recorded one. Refusals and broken streams come
 * again too; streams that were cancelled hang until they are. A pace that knows its position tells which step
 * is asked for; without one, calls are answered in their order.
 * @param events - All of a session, or from any `step.started` on.
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
    // By the step that has begun: what was stopped before it was asked for anything is not asked again.
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
    // What addresses hold was the recorded model's affair: a replay fetches nothing.
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
    `The replay model was called for the ${call}. time, and the log has ${steps} model calls. What runs now does more than what was recorded.`,
    { details: { call, steps } },
  );
}
