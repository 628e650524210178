/**
 * Runs one model call and records every part as it comes. Ends with exactly one of `step.finished`,
 * `step.failed`, `step.interrupted`, `step.retrying` or `context.overflowed`; nothing is held back until then.
 */

import type { ModelMessage } from "ai";
import { estimateSpent } from "../../context/index.ts";
import {
  entriesOf,
  TurnlogError,
  type EventBody,
  type StoredError,
  type TokenUsage,
} from "../../events/index.ts";
import {
  DEFAULT_MAX_ATTEMPTS,
  type Agent,
  CallWatch,
  type StepOutput,
  type StepSource,
} from "../../agent/index.ts";
import { recordOffloaded, type SessionBlobs } from "../../media/index.ts";
import { emptyReply } from "./empty-reply.ts";
import { toStoredError, type Timer } from "../../shared/index.ts";
import { brokenStream, providerFailure } from "./provider-failure.ts";
import { retryDelayMs } from "./retry.ts";
import type { SessionRecorder } from "../../state/index.ts";

export interface ModelStep {
  readonly recorder: SessionRecorder;
  readonly source: StepSource;
  readonly agent: Agent;
  /** What the messages refer to, and where what the model makes is kept. */
  readonly blobs: Pick<SessionBlobs, "expand" | "part">;
  readonly messages: readonly ModelMessage[];
  readonly signal: AbortSignal;
  /** Told the inputs of tool calls as their schemas made them. */
  readonly onInput: (callId: string, input: unknown) => void;
  /** Whether a prompt that was refused as too long may be sent once more, shorter. */
  readonly mayBeShorter: () => boolean;
  readonly clock: () => number;
  readonly timer: Timer;
  readonly random: () => number;
}

type End = Extract<StepOutput, { readonly kind: "end" }>;

/** How the stream went: `error` is what the provider threw or streamed, or that it took too long. */
interface Streamed {
  readonly end: End | undefined;
  readonly error: StoredError | undefined;
  readonly said: boolean;
}

export async function runModelStep(run: ModelStep): Promise<void> {
  const { recorder } = run;
  const { step } = recorder.state.machine.context;
  // Law 1: the provider is called only when the log says durably that it is.
  await recorder.durable();
  const streamed = await stream(run);
  const released = recorder.replayGate({ kind: "step" });
  if (released !== undefined) await released;
  // The session may have moved on: another attempt or nobody is waiting for this one's end.
  if (recorder.state.machine.context.step !== step) return;
  for (const body of ending(run, step, streamed)) recorder.record(body);
}

async function stream(run: ModelStep): Promise<Streamed> {
  const { recorder, source, agent, blobs, onInput } = run;
  using watch = new CallWatch(agent.timeLimits ?? {}, run);
  const { signal } = watch;
  let end: End | undefined;
  let error: StoredError | undefined;
  let said = false;
  let contentType: string | undefined;
  const { messages } = run;
  const outputs = source.call({ agent, messages: await blobs.expand(messages, signal), signal });
  try {
    while (!signal.aborted) {
      let next: IteratorResult<StepOutput, void>;
      try {
        next = await outputs.next();
      } catch (thrown) {
        // By the provider: what recording throws goes on to whoever runs the step.
        error = toStoredError(thrown ?? new Error("The provider failed without an error."));
        break;
      }
      if (next.done === true || signal.aborted) break;
      const output = next.value;
      if (output.kind === "end") {
        end = output;
        continue;
      }
      if (output.kind === "head") {
        ({ contentType } = output);
        continue;
      }
      const { part, parsedInput } = output;
      if (part.type === "part.error") ({ error } = part.data);
      else if (part.type !== "part.start-step") {
        said = true;
        watch.token();
      }
      if (parsedInput !== undefined) onInput(parsedInput.callId, parsedInput.input);
      const offloading = blobs.part(part);
      if (offloading === undefined) recorder.record(part);
      else {
        using offloaded = await offloading;
        recordOffloaded(recorder, offloaded.stored, offloaded.content);
        await recorder.durable();
      }
      const wait = recorder.pace();
      if (wait !== undefined) await wait;
    }
  } finally {
    await release(outputs);
  }
  if (!said && error === undefined && !signal.aborted) {
    const empty = emptyReply(end, contentType);
    if (empty !== undefined) {
      // As any error of a provider: a replay hears of it again.
      error = toStoredError(empty);
      recorder.record({ type: "part.error", data: { error } });
      return { end: undefined, error, said };
    }
  }
  const { lateness } = watch;
  if (end === undefined && lateness !== undefined) error = toStoredError(lateness);
  return { end, error, said };
}

async function release(outputs: AsyncGenerator<StepOutput, void, void>): Promise<void> {
  try {
    await outputs.return();
  } catch (error) {
    // A stream that fails while it is being closed has nothing more to say that would be kept.
    void error;
  }
}

/** The events with which the call ends; before a retry, the calls of the attempt are given up. */
function ending(
  { recorder, agent, signal, mayBeShorter, clock, random }: ModelStep,
  step: number,
  { end, error, said }: Streamed,
): readonly EventBody[] {
  const { attempt, stopping } = recorder.state.machine.context;
  const usage: TokenUsage =
    end?.usage ?? estimateSpent(recorder.state.usage, recorder.state.history);
  if (error === undefined && end !== undefined) return [finished(step, end, usage)];
  if (signal.aborted) {
    return [{ type: "step.interrupted", data: { step, reason: "cancelled", usage } }];
  }
  const failure = error === undefined ? brokenStream : providerFailure(error, clock());
  const { kind } = failure;
  const stored = error ?? toStoredError(brokenOff(step));
  if (kind === "context-overflow" && !said && mayBeShorter()) {
    return [{ type: "context.overflowed", data: { step, error: stored } }];
  }
  const delayMs = stopping === undefined ? retryDelayMs(failure, attempt, random()) : undefined;
  if (delayMs === undefined || attempt >= (agent.maxAttempts ?? DEFAULT_MAX_ATTEMPTS)) {
    return [{ type: "step.failed", data: { step, kind, error: stored, usage } }];
  }
  const spent = said || end !== undefined ? { usage } : {};
  return [
    ...abandonedCalls(recorder, step),
    { type: "step.retrying", data: { step, attempt, delayMs, kind, error: stored, ...spent } },
  ];
}

function finished(step: number, end: End, usage: TokenUsage): EventBody {
  return {
    type: "step.finished",
    data: {
      step,
      finishReason: end.finishReason,
      usage,
      response: end.response,
      ...(end.rawFinishReason === undefined ? {} : { rawFinishReason: end.rawFinishReason }),
      ...(end.providerMetadata === undefined ? {} : { providerMetadata: end.providerMetadata }),
    },
  };
}

/** What had been said stays as it is; the calls in it are not run, as the next attempt makes its own. */
function abandonedCalls({ state }: SessionRecorder, step: number): readonly EventBody[] {
  return entriesOf(state.machine.context.calls).map(([callId]) => ({
    type: "tool.skipped",
    data: { step, callId, reason: "interrupted" },
  }));
}

/** Without the name of the session: a replay of it says the same. */
function brokenOff(step: number): TurnlogError {
  return new TurnlogError(
    "TURN_FAILED",
    `The provider's stream for step ${step} ended without a finish reason. What came is kept; send again to go on.`,
  );
}
