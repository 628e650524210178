/** Gets a summary from a model, rung by rung: each asks for less than the failed one before, which is recorded. */

import type { LanguageModel } from "ai";
import type {
  CompactionStrategy,
  PlanBudget,
  SummaryRequest,
  SummaryReply,
} from "../../context/index.ts";
import {
  deepFreeze,
  defined,
  type FailureKind,
  type ModelName,
  type StoredError,
  type SummaryProblem,
  type SummaryRung,
  type TokenUsage,
  type FinishReason,
} from "../../events/index.ts";
import {
  nameOf,
  hastyLimits,
  retryLimits,
  type PreparedAgent,
  type Agent,
  type StepSource,
  callLimits,
  callSettings,
  CallWatch,
  type StepOutput,
} from "../../agent/index.ts";
import { providerFailure, retryDelayMs, replyEnd } from "../model/provider-failure.ts";
import { refusalCause } from "../model/refusal-cause.ts";
import type { SessionRecorder } from "../../state/index.ts";
import type { Failover } from "../model/failover.ts";
import { waited, type Timer, firstAbort, toStoredError, wellFormed } from "../../shared/index.ts";
import { checkedUsage } from "../model/checked-usage.ts";

export interface Ladder {
  readonly recorder: SessionRecorder;
  readonly source: StepSource;
  readonly prepared: PreparedAgent;
  readonly failover: Failover;
  readonly strategy: CompactionStrategy;
  readonly budget: PlanBudget;
  /** Tokens that a request may have; undefined if the model's window is unknown. */
  readonly headroom: (model: ModelName) => number | undefined;
  /** Whether a prompt with that summary is small enough. */
  readonly isSmall: (plan: Written) => boolean;
  readonly signal: AbortSignal;
  readonly clock: () => number;
  readonly timer: Timer;
  readonly random: () => number;
}

export interface Written {
  readonly covers: SummaryRequest["covers"];
  readonly summary: string;
  readonly rung: SummaryRung;
  readonly model: ModelName;
  readonly usage: TokenUsage;
}

const rungs: readonly SummaryRung[] = ["whole", "capped", "newest"];

/** The summary; undefined if every rung failed or the signal aborted. */
export async function climbDown(ladder: Ladder): Promise<Written | undefined> {
  const { strategy, recorder, prepared, failover, budget, signal } = ladder;
  const { writer } = strategy;
  if (writer === undefined) return undefined;
  let model = writer.model ?? failover.summariser(prepared);
  const failed: ModelName[] = [];
  const { history, view } = deepFreeze({
    history: recorder.state.history,
    view: recorder.state.view,
  });
  for (const rung of rungs) {
    if (signal.aborted) return undefined;
    const headroom = ladder.headroom(nameOf(model));
    const request = writer.request(rung, history, view, budget, headroom);
    if (request === undefined) return undefined;
    const refuse = (why: SummaryProblem, spent: Spent = {}): void => {
      recorder.record({
        type: "context.summary-rejected",
        data: { strategy: strategy.name, rung, why, ...spent },
      });
    };
    if (headroom !== undefined && request.tokens > headroom) {
      refuse("no-room");
      continue;
    }
    // The model that takes over gets the same request.
    let answer: LastAnswer;
    for (;;) {
      const name = nameOf(model);
      const successor = (kind: FailureKind): LanguageModel | undefined =>
        writer.successor === undefined
          ? failover.summarisesNext(prepared, [...failed, name], kind, request.tokens)
          : writer.successor(kind);
      answer = await patientCall(ladder, model, request, successor);
      const { error, kind, usage } = answer;
      if (signal.aborted) break;
      failover.ended(model, kind);
      const next = kind && successor(kind);
      if (next === undefined) break;
      refuse("failed", { model: name, usage, ...defined({ error }) });
      failed.push(name);
      model = next;
    }
    const spent = { model: nameOf(model), usage: answer.usage };
    if (signal.aborted) {
      refuse("failed", spent);
      return undefined;
    }
    const { error, kind } = answer;
    if (error !== undefined && kind !== undefined) {
      const tooLong = kind === "context-overflow";
      refuse(tooLong ? "overflow" : "failed", { ...(tooLong ? {} : spent), error });
      const refused = refusalCause(error, kind);
      // A smaller request does not help against other errors. One without what is refused does.
      if (tooLong || kind === "timeout" || refused === "history") continue;
      return undefined;
    }
    const read = request.read(answer.reply);
    if ("problem" in read) {
      refuse(read.problem, spent);
      continue;
    }
    const written = { covers: request.covers, summary: read.summary, rung, ...spent };
    if (ladder.isSmall(written)) return written;
    refuse("too-long", spent);
  }
  return undefined;
}

interface Spent {
  readonly model?: ModelName;
  readonly usage?: TokenUsage;
  readonly error?: StoredError;
}

interface LastAnswer extends SummaryAnswer {
  /** Of its error; absent after a cancel. */
  readonly kind?: FailureKind;
}

/** Retries temporary failures, as a step does. */
async function patientCall(
  { recorder, source, prepared: { agent }, signal, clock, timer, random }: Ladder,
  model: LanguageModel,
  request: SummaryRequest,
  successor: (kind: FailureKind) => LanguageModel | undefined,
): Promise<LastAnswer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await callSummariser({
      source,
      agent,
      model,
      request,
      signal,
      timer,
      believesBill: () => recorder.believesBill(),
    });
    if (answer.error === undefined || signal.aborted) return answer;
    const failure = providerFailure(answer.error, clock());
    const { kind } = failure;
    const limits = successor(kind) === undefined ? retryLimits(agent) : hastyLimits(agent, kind);
    if (attempt >= limits.attempts) return { ...answer, kind };
    const delayMs = retryDelayMs(failure, attempt, random(), limits.delayMs);
    if (delayMs === undefined) return { ...answer, kind };
    await waited(timer, delayMs, { kind: "summary-retry" }, signal);
  }
}

// One call of the model that writes a summary. Its parts are not recorded, only its outcome.

interface SummaryCall {
  readonly source: StepSource;
  readonly agent: Agent;
  readonly model: Agent["model"];
  readonly request: SummaryRequest;
  readonly signal: AbortSignal;
  readonly timer: Timer;
  readonly believesBill: () => boolean;
}

interface SummaryAnswer {
  readonly reply: SummaryReply;
  /** The billed usage, or our estimate. */
  readonly usage: TokenUsage;
  /** The provider's error, or `TimeoutError`. */
  readonly error: StoredError | undefined;
}

/** Characters per token, at most. A longer reply is cut off. */
const MOST_PER_TOKEN = 8;

async function callSummariser(call: SummaryCall): Promise<SummaryAnswer> {
  const { request, agent, source } = call;
  using watch = new CallWatch(callLimits(agent), call);
  const { signal } = watch;
  let text = "";
  let calledTools = false;
  let isTooLong = false;
  let error: StoredError | undefined;
  let end: Extract<StepOutput, { readonly kind: "end" }> | undefined;
  const stop = new AbortController();
  using stops = firstAbort(signal, stop.signal);
  const outputs = source.call({
    agent: summaryAgent(call),
    messages: [{ role: "user", content: wellFormed(request.prompt) }],
    signal: stops.signal,
  });
  try {
    for await (const output of outputs) {
      if (signal.aborted) break;
      if (output.kind === "end") {
        end = output;
        continue;
      }
      if (output.kind === "head") continue;
      const { part } = output;
      if (part.type === "part.error") ({ error } = part.data);
      else if (part.type !== "part.start-step") watch.token();
      if (part.type === "part.text-delta") text += part.data.text;
      if (part.type === "part.tool-call") calledTools = true;
      isTooLong = text.length > MOST_PER_TOKEN * request.maxTokens;
      if (isTooLong) break;
    }
  } catch (thrown) {
    error = toStoredError(thrown);
  } finally {
    // Stops a stream that was left early.
    stop.abort();
  }
  const { lateness } = watch;
  if (end === undefined && lateness !== undefined) error = toStoredError(lateness);
  if (error === undefined && !isTooLong && !signal.aborted) {
    const whole = replyEnd(end);
    if (whole instanceof Error) error = toStoredError(whole);
    else end = whole;
  }
  const estimate = estimated(request, text);
  const sent = {
    agent: summaryAgent(call),
    instructions: request.instructions,
    tools: "",
    messages: [{ role: "user" as const, content: request.prompt }],
  };
  const finishReason: FinishReason = end?.finishReason ?? "length";
  return {
    reply: { text, finishReason, calledTools },
    usage:
      end?.usage === undefined || call.believesBill()
        ? (end?.usage ?? estimate)
        : checkedUsage(end.usage, () => estimate, sent),
    error,
  };
}

function summaryAgent({ agent, model, request }: SummaryCall): Agent {
  const { headers, providerOptions } = agent;
  return {
    model,
    instructions: request.instructions,
    ...callSettings(agent),
    maxOutputTokens: request.maxTokens,
    ...(headers === undefined ? {} : { headers }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
}

function estimated(request: SummaryRequest, text: string): TokenUsage {
  return {
    basis: "estimated",
    inputTokens: request.tokens,
    outputTokens: Math.ceil(text.length / 4),
  };
}
