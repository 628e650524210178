/** Gets a summary from a model, rung by rung: each asks for less than the failed one before, which is recorded. */

import type { CompactionStrategy, PlanBudget, SummaryRequest } from "../../context/index.ts";
import {
  deepFreeze,
  type ModelName,
  type StoredError,
  type SummaryProblem,
  type SummaryRung,
  type TokenUsage,
} from "../../events/index.ts";
import {
  longestRetryDelayMs,
  maxAttempts,
  nameOf,
  type Agent,
  type StepSource,
} from "../../agent/index.ts";
import { providerFailure, retryDelayMs } from "../model/provider-failure.ts";
import { refusalCause } from "../model/refusal-cause.ts";
import type { SessionRecorder } from "../../state/index.ts";
import { callSummariser, type SummaryAnswer } from "./summary-call.ts";
import { waited, type Timer } from "../../shared/index.ts";

export interface Ladder {
  readonly recorder: SessionRecorder;
  readonly source: StepSource;
  readonly agent: Agent;
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
  const { strategy, recorder, agent, budget, signal } = ladder;
  const { writer } = strategy;
  if (writer === undefined) return undefined;
  const model = writer.model ?? agent.model;
  const name = nameOf(model);
  const { history, view } = deepFreeze({
    history: recorder.state.history,
    view: recorder.state.view,
  });
  for (const rung of rungs) {
    if (signal.aborted) return undefined;
    const headroom = ladder.headroom(name);
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
    const answer = await patientCall(ladder, model, request);
    const released = recorder.replayGate({ kind: "summary" });
    if (released !== undefined) await released;
    const { usage } = answer;
    const spent = { model: name, usage };
    if (signal.aborted) {
      refuse("failed", spent);
      return undefined;
    }
    if (answer.error !== undefined) {
      const { error } = answer;
      const { kind } = providerFailure(error, ladder.clock());
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

/** Retries temporary failures, as a step does. */
async function patientCall(
  { recorder, source, agent, signal, clock, timer, random }: Ladder,
  model: Agent["model"],
  request: SummaryRequest,
): Promise<SummaryAnswer> {
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
    if (attempt >= maxAttempts(agent)) return answer;
    const failure = providerFailure(answer.error, clock());
    const delayMs = retryDelayMs(failure, attempt, random(), longestRetryDelayMs(agent));
    if (delayMs === undefined) return answer;
    await waited(timer, delayMs, { kind: "summary-retry" }, signal);
  }
}
