/**
 * Which compaction is taken of those that may be: the agent's own, or what is left out where a prompt
 * would not fit its model behind that. So the next short message can be sent. Pure.
 */

import {
  newestTokens,
  onlyThisTurn,
  unsentMessages,
  type CompactionStrategy,
  type PlanBudget,
} from "../../context/index.ts";
import type { EventBody } from "../../events/index.ts";
import { compaction, inContextTokens, type CompactionEnd, type Origin } from "./compaction-end.ts";
import { nextEstimate, plainTokens, type PromptSetup } from "./context-figures.ts";
import { compactionChoice } from "../../agent/index.ts";
import { compactionBudget, compactionLimits } from "./prompt-limits.ts";
import type { SessionRecorder, SessionState } from "../../state/index.ts";

/** What a compaction is chosen for. */
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

/** What a strategy makes of the prompt without a model, in the tokens of the next estimate. */
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
 * What comes before the agent's own strategy: nothing is left out for a message that no model takes,
 * messages that were never sent are left out first, and behind a second refusal nobody is asked for words.
 */
export function withoutStrategy(
  run: CompactionCase,
  budget: PlanBudget,
): CompactionEnd | undefined {
  const { history, view, compactions: tried } = run.recorder.state;
  const { window, fixed } = limitsOf(run);
  const isTooLong = newestTokens(history, view, budget) + fixed > window;
  // A strategy of the user's own may cut even the newest message.
  if (isTooLong && tokensAfter(ended(run, run.strategy, budget)) > window) {
    return rejected(run, "nothing-to-gain");
  }
  const unsent = ended(run, unsentMessages, budget);
  if (unsent.type === "context.compacted" && fits(run, unsent)) return unsent;
  const isLast = tried.trigger === "overflow" && (tried.overflows > 1 || tried.attempts > 2);
  return isLast ? smallest(run, budget) : undefined;
}

/** Whether anything more can be left out of a prompt. */
export function canBeShorter(run: CompactionCase): boolean {
  const budget = compactionBudget(run.recorder.state, run.setup, run.clock());
  return smallest(run, budget).type === "context.compacted";
}

/** The most that can be left out. */
function smallest(run: CompactionCase, budget: PlanBudget): CompactionEnd {
  const own = ended(run, run.strategy, budget);
  if (!isCompacted(run)) return own;
  const least = ended(run, onlyThisTurn, budget);
  return tokensAfter(least) < tokensAfter(own) ? least : own;
}

/** A compaction that leaves a prompt which the model does not take; or all before this turn left out, where it takes that. */
export function orOnlyThisTurn(
  run: CompactionCase,
  end: CompactionEnd,
  budget: PlanBudget,
): CompactionEnd {
  if (!isCompacted(run)) return end;
  const least = ended(run, onlyThisTurn, budget);
  if (least.type !== "context.compacted" || tokensAfter(least) >= tokensAfter(end)) return end;
  return fits(run, least) || tokensAfter(end) > limitsOf(run).window ? least : end;
}

/** Whether the agent has its sessions compacted at all. */
function isCompacted({ setup }: CompactionCase): boolean {
  return compactionChoice(setup.prepared.agent.context) !== undefined;
}

/** Whether the prompt has room behind a compaction. */
export function fits(run: CompactionCase, end: CompactionEnd): boolean {
  return tokensAfter(end) <= limitsOf(run).most;
}

/** Tokens of the prompt behind it. */
function tokensAfter({ type, data }: CompactionEnd): number {
  return type === "context.compacted"
    ? data.afterTokens
    : (data.beforeTokens ?? Number.POSITIVE_INFINITY);
}

/** What the prompt may have, without bound where nobody knows, and what of it stands before all messages. */
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
