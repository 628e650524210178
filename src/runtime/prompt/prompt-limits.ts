/** How many tokens a prompt may have, by our own count: before it is sent, and after it was refused. Pure. */

import {
  defaultEstimator,
  meter,
  planBudget,
  usable,
  type ContextEstimate,
  type PlanBudget,
} from "../../context/index.ts";
import { overflowOf } from "../../projections/index.ts";
import { nextEstimate, type PromptSetup } from "./context-figures.ts";
import { compactionChoice } from "../../agent/index.ts";
import type { SessionState } from "../../state/index.ts";

/** Of a prompt that was refused as too long and whose limit nobody tells. */
export const REFUSED_SHARE = 0.75;

/** What messages may have before the next step, by our own count. */
export function stepBudget(setup: PromptSetup, estimate: ContextEstimate): PlanBudget {
  return budgetBelow(usableLimit(setup, estimate), setup, estimate, usable(estimate));
}

/** What a strategy may leave: what the limit has for messages, by our own count. */
export function compactionBudget(state: SessionState, setup: PromptSetup, now: number): PlanBudget {
  const estimate = nextEstimate(state, setup, now);
  const { limit, most } = compactionLimits(state, setup, estimate);
  return budgetBelow(limit, setup, estimate, most);
}

/** What a prompt may have behind a compaction, by our own count. */
export interface CompactedLimits {
  /** What a strategy plans for: as the provider counted, where it has refused the prompt. */
  readonly limit: number | undefined;
  /** So that it is worth sending: of what is left the provider may count no more than we do. */
  readonly most: number | undefined;
  /** Beyond it the model is known to refuse the prompt. */
  readonly window: number | undefined;
}

export function compactionLimits(
  state: SessionState,
  setup: PromptSetup,
  estimate: ContextEstimate,
): CompactedLimits {
  const window = estimate.room?.window;
  const most = usable(estimate);
  if (state.compactions.trigger !== "overflow") {
    return { limit: usableLimit(setup, estimate), most, window };
  }
  const share = REFUSED_SHARE * refusedTokens(state, estimate);
  return {
    limit: refusedLimit(state, setup, estimate),
    most: Math.min(share, most ?? Number.POSITIVE_INFINITY),
    window,
  };
}

function usableLimit({ prepared }: PromptSetup, estimate: ContextEstimate): number | undefined {
  return compactionChoice(prepared.agent.context)?.when.limit(estimate) ?? usable(estimate);
}

export function budgetBelow(
  limit: number | undefined,
  { prepared: { agent, description } }: PromptSetup,
  estimate: ContextEstimate,
  most: number | undefined = limit,
): PlanBudget {
  const measure = meter(agent.context?.estimator ?? defaultEstimator, description.model);
  const known = { name: "limit", atLimit: "compact", limit: () => limit } as const;
  return planBudget(known, estimate, measure, most);
}

/** Below the prompt that was refused, and below the limit as the provider counts. */
export function refusedLimit(
  state: SessionState,
  setup: PromptSetup,
  estimate: ContextEstimate,
): number {
  const usable = usableLimit(setup, estimate) ?? Number.POSITIVE_INFINITY;
  const share = REFUSED_SHARE * refusedTokens(state, estimate);
  return Math.min(share, usable / countedMore(state, estimate));
}

/** Our own count of the prompt that was refused: it may have been cut since. */
export function refusedTokens({ usage }: SessionState, { tokens }: ContextEstimate): number {
  return usage.running?.estimate.tokens ?? tokens;
}

/** How many tokens the provider counts for one of ours, at the least one. */
function countedMore(state: SessionState, estimate: ContextEstimate): number {
  const { open } = state.history;
  const counted = open?.error === undefined ? undefined : overflowOf(open.error)?.promptTokens;
  return counted === undefined
    ? 1
    : Math.max(1, counted / Math.max(1, refusedTokens(state, estimate)));
}
