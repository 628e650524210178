/**
 * Chooses a compaction after which the prompt fits its model: the agent's own strategy, or one that
 * leaves out more. So the next short message can always be sent. Pure.
 */

import {
  newestTokens,
  onlyTheNewest,
  onlyThisTurn,
  onlyThisTurnAtLast,
  unsentMessages,
  type CompactionStrategy,
  type PlanBudget,
} from "../../context/index.ts";
import type { EventBody } from "../../events/index.ts";
import { compaction, inContextTokens, type CompactionEnd, type Origin } from "./compaction-end.ts";
import { nextEstimate, plainTokens, type PromptSetup } from "./context-figures.ts";
import { compactionChoice } from "../../agent/index.ts";
import { pruningNow, compactionBudget, compactionLimits, countedMore } from "./headroom.ts";
import type { SessionRecorder, SessionState } from "../../state/index.ts";

/** The session and the strategy of a compaction. */
export interface CompactionCase {
  readonly recorder: Pick<SessionRecorder, "state">;
  readonly setup: PromptSetup;
  readonly strategy: CompactionStrategy;
  readonly clock: () => number;
}

export function tokensOf({ setup, clock }: CompactionCase): (state: SessionState) => number {
  return (state) => plainTokens(state, setup, clock());
}

export function rejected(
  { recorder: { state }, setup, strategy, clock }: CompactionCase,
  why: EventBody<"context.compaction-rejected">["data"]["why"],
): EventBody<"context.compaction-rejected"> {
  const beforeTokens = nextEstimate(state, setup, clock()).tokens;
  return {
    type: "context.compaction-rejected",
    data: { strategy: strategy.name, why, beforeTokens },
  };
}

/** The end of a strategy's compaction without a model, in tokens of `session.context()`. */
export function ended(
  run: CompactionCase,
  strategy: CompactionStrategy,
  budget: PlanBudget,
  origin: Origin = {},
): CompactionEnd {
  const { recorder, setup, clock } = run;
  const end = compaction(recorder.state, strategy, tokensOf(run), budget, origin);
  return inContextTokens(recorder.state, end, setup, clock());
}

/**
 * An end that precedes the agent's strategy: a rejection if the newest message alone is too long, messages
 * that were never sent, or after a second refusal the smallest prompt without a model.
 */
export function withoutStrategy(
  run: CompactionCase,
  budget: PlanBudget,
): CompactionEnd | undefined {
  const { history, view, compactions: tried } = run.recorder.state;
  const { window, fixed } = limitsOf(run);
  const isTooLong = newestTokens(history, view, budget) + fixed > window;
  // A user's strategy may cut even the newest message.
  if (isTooLong && tokensAfter(ended(run, run.strategy, budget)) > window) {
    return rejected(run, "nothing-to-gain");
  }
  const unsent = ended(run, unsentMessages, budget);
  if (unsent.type === "context.compacted" && fits(run, unsent)) return unsent;
  const isLast = tried.trigger === "overflow" && (tried.overflows > 1 || tried.attempts > 2);
  return isLast ? smallest(run, budget) : undefined;
}

/**
 * Whether a compaction that begins now would change nothing. One that prunes or counts the prompt may, and a
 * model's summary is only known once it is written; a strategy that fails is reported by its rejection.
 */
export function isInVain(run: CompactionCase): boolean {
  const { recorder, setup, strategy, clock } = run;
  const { state } = recorder;
  const { context } = setup.prepared.agent;
  if (strategy.writer !== undefined || context?.counter !== undefined) return false;
  if (pruningNow(state, setup, clock(), "compaction") !== undefined) return false;
  const budget = compactionBudget(state, setup, clock());
  const own = withoutStrategy(run, budget) ?? ended(run, strategy, budget);
  const end = fits(run, own) ? own : orOnlyThisTurn(run, own, budget);
  return end.type === "context.compaction-rejected" && end.data.why === "nothing-to-gain";
}

export function canBeShorter(run: CompactionCase): boolean {
  const budget = compactionBudget(run.recorder.state, run.setup, run.clock());
  return smallest(run, budget).type === "context.compacted";
}

function smallest(run: CompactionCase, budget: PlanBudget): CompactionEnd {
  const own = ended(run, run.strategy, budget);
  if (!isCompacted(run)) return own;
  const least = onlyThis(run, budget);
  return tokensAfter(least) < tokensAfter(own) ? least : own;
}

/**
 * All before this turn left out but for the running request; where that does not fit, the earlier steps of the
 * turn too; and the request itself where the newest step is too long for both.
 */
function onlyThis(run: CompactionCase, budget: PlanBudget): CompactionEnd {
  const limit = mostForRequest(run);
  const isFitting = (end: CompactionEnd): boolean => tokensAfter(end) <= limit;
  const last = ended(run, onlyThisTurnAtLast, budget);
  if (run.strategy.forgetsRequest === true || !isFitting(last)) return last;
  const end = ended(run, onlyThisTurn, budget);
  if (isFitting(end)) return end;
  const newest = ended(run, onlyTheNewest, budget);
  return isFitting(newest) ? newest : last;
}

/** Tokens that a prompt with the running request may have: all that the model is known to take. */
function mostForRequest(run: CompactionCase): number {
  const { recorder, setup, clock } = run;
  const { state } = recorder;
  const { most, window } = limitsOf(run);
  const { trigger, overflows } = state.compactions;
  if (trigger !== "overflow") return window;
  // After a second refusal, neither the known window nor the provider's count is to be trusted.
  if (overflows > 1 || window === Number.POSITIVE_INFINITY) return most;
  return window / countedMore(state, nextEstimate(state, setup, clock()));
}

/** Keeps the end, or leaves out all before this turn if only that fits the model. */
export function orOnlyThisTurn(
  run: CompactionCase,
  end: CompactionEnd,
  budget: PlanBudget,
): CompactionEnd {
  if (!isCompacted(run)) return end;
  const least = onlyThis(run, budget);
  if (least.type !== "context.compacted" || tokensAfter(least) >= tokensAfter(end)) return end;
  return fits(run, least) || tokensAfter(end) > limitsOf(run).window ? least : end;
}

function isCompacted({ setup }: CompactionCase): boolean {
  return compactionChoice(setup.prepared.agent.context) !== undefined;
}

export function fits(run: CompactionCase, end: CompactionEnd): boolean {
  return tokensAfter(end) <= limitsOf(run).most;
}

function tokensAfter({ type, data }: CompactionEnd): number {
  return type === "context.compacted"
    ? data.afterTokens
    : (data.beforeTokens ?? Number.POSITIVE_INFINITY);
}

/** Limits of the prompt, infinite if unknown, and the tokens of instructions and tools. */
function limitsOf({ recorder, setup, clock }: CompactionCase): {
  readonly most: number;
  readonly window: number;
  readonly fixed: number;
} {
  const estimate = nextEstimate(recorder.state, setup, clock());
  const { most, window } = compactionLimits(recorder.state, setup, estimate);
  const { instructions, tools } = estimate.breakdown;
  const unbounded = Number.POSITIVE_INFINITY;
  return { most: most ?? unbounded, window: window ?? unbounded, fixed: instructions + tools };
}
