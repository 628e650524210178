/**
 * Runs one model call and records every part as it arrives, then exactly one of `step.finished`, `step.failed`,
 * `step.interrupted`, `step.retrying` or `context.overflowed`, unless the session has moved on.
 */

import { hash } from "node:crypto";
import type { ModelMessage, OutputInterface } from "ai";
import { estimateSpent, marksPay } from "../../context/index.ts";
import {
  byId,
  entriesOf,
  isReport,
  TurnlogError,
  type EventBody,
  type FailureKind,
  type StoredError,
  type TokenUsage,
  defined,
} from "../../events/index.ts";
import {
  type Agent,
  type Caching,
  type CallObserver,
  callLimits,
  CallWatch,
  hastyLimits,
  maxAttempts,
  retryLimits,
  type RetryLimits,
  sentTools,
  type StepOutput,
  type StepRequest,
  type StepSource,
  type TurnContext,
} from "../../agent/index.ts";
import { recordOffloaded, type SessionBlobs } from "../../media/index.ts";
import { awaitedCalls, deferredCalls, EMPTY_STOP, isSilent } from "../../projections/index.ts";
import { checkedUsage, type SentPrompt } from "./checked-usage.ts";
import {
  emptyReply,
  emptyStop,
  replyEnd,
  brokenStream,
  hasNoModel,
  type ProviderFailure,
  providerFailure,
  retryDelayMs,
} from "./provider-failure.ts";
import { loadedFor } from "./call-request.ts";
import { toStoredError, unlessAborted, type Timer } from "../../shared/index.ts";
import type { SessionRecorder } from "../../state/index.ts";

export interface ModelStep {
  readonly recorder: SessionRecorder;
  readonly source: StepSource;
  readonly agent: Agent;
  /** The texts of the agent's instructions and tools. */
  readonly texts: Pick<SentPrompt, "instructions" | "tools">;
  /** The blobs of the messages, and of files that the model makes. */
  readonly blobs: Pick<SessionBlobs, "expand" | "part">;
  readonly messages: readonly ModelMessage[];
  readonly context: () => Promise<Required<TurnContext>>;
  readonly output: OutputInterface | undefined;
  readonly signal: AbortSignal;
  /** Called before the call; its callbacks may take their time. */
  readonly observe?: (
    setup: Required<Pick<StepRequest, "agent" | "messages" | "context" | "signal">> &
      Pick<ModelStep, "output">,
  ) => Promise<CallObserver | undefined>;
  /** Called with the inputs of tool calls after their schemas were applied. */
  readonly onInput: (callId: string, input: unknown) => void;
  /** Whether a refused prompt may be sent again, shorter. */
  readonly mayBeShorter: () => boolean;
  /** A replay repeats what was recorded: it does not judge a reply by today's rules. */
  readonly isReplay: boolean;
  /** What is left out before a refused conversation is sent again; undefined if it is not. */
  readonly reduced: (kind: FailureKind, error: StoredError) => EventBody | undefined;
  /** The move to another model after a failure for good; undefined if none takes over. */
  readonly failover: (kind: FailureKind, isSpent: boolean) => EventBody | undefined;
  /** Called when the model has answered, or has failed for good. */
  readonly onEnd: (kind?: FailureKind) => void;
  readonly clock: () => number;
  readonly timer: Timer;
  readonly random: () => number;
}

type End = Extract<StepOutput, { readonly kind: "end" }>;

/** The outcome of the stream. `error` is the provider's, or a `TimeoutError`. */
interface Streamed {
  readonly end: End | undefined;
  readonly error: StoredError | undefined;
  /** Undefined if the model was not called. */
  readonly sent: SentPrompt | undefined;
  readonly hasContent: boolean;
  /** Content that is more than a client's report that the reply began. */
  readonly hasReply: boolean;
}

export async function runModelStep(run: ModelStep): Promise<void> {
  const { recorder } = run;
  const { step } = recorder.state.machine.context;
  // Law 1: `step.started` is durable before the provider is called.
  await recorder.durable();
  const streamed = await stream(run);
  // The session may have moved on: then this call has no end to record.
  if (recorder.state.machine.context.step !== step) return;
  for (const body of ending(run, step, streamed)) recorder.record(body);
}

async function stream(run: ModelStep): Promise<Streamed> {
  const { recorder, source, blobs, onInput } = run;
  const agent = loadedFor(run.agent, recorder.state.history);
  using watch = new CallWatch(callLimits(agent), run);
  const { signal } = watch;
  let end: End | undefined;
  let error: StoredError | undefined;
  let hasContent = false;
  let hasReply = false;
  let contentType: string | undefined;
  const context = await contextOf(run, signal);
  if (context === undefined)
    return { end, error: latenessOf(watch), sent: undefined, hasContent, hasReply };
  const messages = await blobs.expand(run.messages, signal);
  const { output } = run;
  const observer = await run.observe?.({ agent, messages, context, signal, output: run.output });
  const awaited = awaitedCalls(recorder.state.history);
  const caching = cachingOf(recorder.state, agent, run.clock());
  const request = { agent, messages, signal, context, output, awaited, caching, observer };
  const outputs = source.call(request);
  try {
    while (!signal.aborted) {
      let next: IteratorResult<StepOutput, void>;
      try {
        next = await outputs.next();
      } catch (thrown) {
        // Only the provider's errors: an error of `record` rejects the step.
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
        hasContent = true;
        if (part.type !== "part.custom" || !isReport(part.data.kind)) hasReply = true;
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
  if (error === undefined && !signal.aborted && !run.isReplay) {
    const empty = hasContent ? undefined : emptyReply(end, contentType);
    const whole = empty ?? withheld(run, askedAgain(run, replyEnd(end)));
    if (whole instanceof Error) {
      // Recorded as a provider's error, so that a replay repeats it, and its usage with it.
      error = toStoredError(whole);
      observer?.failed({ kind: "stream", error: whole });
      recorder.record({ type: "part.error", data: { error } });
      if (end?.usage === undefined) end = undefined;
    } else end = whole;
  }
  if (end === undefined) error = latenessOf(watch) ?? error;
  // As the log has them, so that a replay without the blobs comes to the same.
  const hasSchema = output !== undefined;
  const { usage } = recorder.state;
  const sent = { ...run.texts, agent, messages: run.messages, usage, hasSchema };
  return { end, error, sent, hasContent, hasReply };
}

/** A fork has the messages of its origin, so the key is that of the first one. */
function cachingOf(
  { usage, history }: SessionRecorder["state"],
  agent: Agent,
  now: number,
): Caching | undefined {
  const { promptCache = "auto" } = agent;
  if (promptCache === "off") return undefined;
  const ttl = promptCache === "auto" ? "5m" : promptCache.ttl;
  const first = history.items.find(({ kind }) => kind === "user");
  const begun = first?.kind === "user" ? [first.id, first.position, first.time] : [];
  const hasTools = Object.keys(sentTools(agent) ?? {}).length > 0;
  return {
    ttl,
    key: hash("sha256", JSON.stringify(begun)).slice(0, 32),
    pays: marksPay(usage, hasTools, ttl, now),
  };
}

/** An empty reply is an error once per step, so that the model is called again. */
function askedAgain({ recorder, agent }: ModelStep, end: End | Error): End | Error {
  if (end instanceof Error) return end;
  const { machine, history } = recorder.state;
  const { attempt, stopping, step } = machine.context;
  if (stopping !== undefined || attempt >= maxAttempts(agent)) return end;
  const { finishReason } = end;
  const { open } = history;
  if (open === undefined || !isSilent({ ...open, status: "finished", finishReason })) return end;
  // The provider has not finished its own calls: the turn continues without further input, or is stuck.
  if (awaitedCalls(history).length > 0) return end;
  const wasEmpty = history.items.some(
    (item) => item.kind === "step" && item.step === step && item.error?.name === EMPTY_STOP,
  );
  return wasEmpty ? end : emptyStop();
}

/** A reply that its provider withheld is an error if another model may give it. */
function withheld({ failover }: ModelStep, end: End | Error): End | Error {
  if (end instanceof Error || end.finishReason !== "content-filter") return end;
  if (failover("content-filter", true) === undefined) return end;
  return new Error("The provider's content_filter has ended the reply.");
}

function latenessOf({ lateness }: CallWatch): StoredError | undefined {
  return lateness === undefined ? undefined : toStoredError(lateness);
}

/** Undefined after an abort: `contextFor` may never answer. */
async function contextOf(
  { context }: ModelStep,
  signal: AbortSignal,
): Promise<Required<TurnContext> | undefined> {
  try {
    return await unlessAborted(context(), signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

async function release(outputs: AsyncGenerator<StepOutput, void, void>): Promise<void> {
  try {
    await outputs.return();
  } catch (error) {
    // The stream has ended already: an error while closing it changes nothing.
    void error;
  }
}

/** The events at the end of the call. Before a retry, the calls of the attempt are skipped. */
function ending(
  run: ModelStep,
  step: number,
  { end, error, sent, hasContent, hasReply }: Streamed,
): readonly EventBody[] {
  const { recorder, agent, signal, mayBeShorter, reduced, onEnd, clock } = run;
  const { attempt } = recorder.state.machine.context;
  const estimate = (): TokenUsage => estimateSpent(recorder.state.usage, recorder.state.history);
  const isBelieved = recorder.believesBill() || sent === undefined;
  const usage: TokenUsage =
    end?.usage === undefined || isBelieved
      ? (end?.usage ?? estimate())
      : checkedUsage(end.usage, estimate, sent);
  if (error === undefined && end !== undefined) {
    onEnd();
    return [finished(step, end, usage, deferred(recorder, agent))];
  }
  if (signal.aborted) {
    return [{ type: "step.interrupted", data: { step, reason: "cancelled", usage } }];
  }
  const failure = error === undefined ? brokenStream : providerFailure(error, clock());
  const { kind } = failure;
  const stored = error ?? toStoredError(brokenOff(step));
  if (kind === "context-overflow" && !hasReply && mayBeShorter()) {
    return [{ type: "context.overflowed", data: { step, error: stored } }];
  }
  const less = hasReply ? undefined : reduced(kind, stored);
  if (less !== undefined) {
    const again = { step, attempt, delayMs: 0, kind, error: stored };
    return [less, { type: "step.retrying", data: again }];
  }
  const own = kind === "invalid-request" && hasNoModel(stored) ? "not-a-model" : kind;
  const { delayMs, next } = afterwards(run, failure, own);
  if (delayMs === undefined) {
    onEnd(own);
    return [{ type: "step.failed", data: { step, kind, error: stored, usage } }];
  }
  if (next !== undefined) onEnd(own);
  const spent = hasContent || end !== undefined ? { usage } : {};
  return [
    ...abandonedCalls(recorder, step),
    ...(next === undefined ? [] : [next]),
    { type: "step.retrying", data: { step, attempt, delayMs, kind, error: stored, ...spent } },
  ];
}

/** The wait before the next attempt, and the move to its model if it is another one. No wait: there is none. */
function afterwards(
  { recorder, agent, failover, random }: ModelStep,
  failure: ProviderFailure,
  kind: FailureKind,
): { readonly delayMs: number | undefined; readonly next?: EventBody } {
  const { machine, view } = recorder.state;
  const { step, attempt, stopping } = machine.context;
  if (stopping !== undefined) return { delayMs: undefined };
  // The attempts of this model.
  const tried = attempt - (view.failover?.step === step ? view.failover.attempt : 0);
  const chance = random();
  const within = ({ attempts, delayMs: longest }: RetryLimits): number | undefined =>
    tried < attempts ? retryDelayMs(failure, tried, chance, longest) : undefined;
  const next = failover(kind, within(hastyLimits(agent, kind)) === undefined);
  if (next !== undefined) return { delayMs: 0, next };
  return { delayMs: within(retryLimits(agent)) };
}

/** The provider's calls whose results the next step may bring. */
function deferred({ state }: SessionRecorder, { tools = {} }: Agent): readonly string[] {
  const isDeferring = (name: string): boolean => {
    const tool = byId(tools, name);
    return tool?.type === "provider" && tool.supportsDeferredResults === true;
  };
  if (!Object.keys(tools).some(isDeferring)) return [];
  return deferredCalls(state.history, state.view, isDeferring);
}

function finished(
  step: number,
  end: End,
  usage: TokenUsage,
  waiting: readonly string[],
): EventBody {
  return {
    type: "step.finished",
    data: {
      step,
      finishReason: end.finishReason,
      usage,
      response: end.response,
      ...defined({ rawFinishReason: end.rawFinishReason, providerMetadata: end.providerMetadata }),
      ...(waiting.length === 0 ? {} : { deferred: waiting }),
    },
  };
}

/** The text of the attempt stays. Its calls do not run, since the next attempt makes its own. */
function abandonedCalls({ state }: SessionRecorder, step: number): readonly EventBody[] {
  return entriesOf(state.machine.context.calls).map(([callId]) => ({
    type: "tool.skipped",
    data: { step, callId, reason: "interrupted" },
  }));
}

/** In a replay of a log whose release recorded no error. Without the session's id, as it was recorded. */
function brokenOff(step: number): TurnlogError {
  return new TurnlogError(
    "TURN_FAILED",
    `The provider's stream for step ${step} ended without a finish reason. The partial reply is kept; send again to continue.`,
  );
}
