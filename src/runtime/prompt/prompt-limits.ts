/** The token limits of a prompt, by our estimator: before it is sent, and after a refusal. Pure. */

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

/** The share of a refused prompt that is allowed next, if its limit is unknown. */
export const REFUSED_SHARE = 0.75;

/** The budget of messages before the next step. */
export function stepBudget(setup: PromptSetup, estimate: ContextEstimate): PlanBudget {
  return budgetBelow(usableLimit(setup, estimate), setup, estimate, usable(estimate));
}

/** The budget of messages for a compaction strategy. */
export function compactionBudget(state: SessionState, setup: PromptSetup, now: number): PlanBudget {
  const estimate = nextEstimate(state, setup, now);
  const { limit, most } = compactionLimits(state, setup, estimate);
  return budgetBelow(limit, setup, estimate, most);
}

/** The limits of a prompt after a compaction, by our estimator. */
export interface CompactedLimits {
  /** The strategy plans for this. After a refusal, it follows the provider's count. */
  readonly limit: number | undefined;
  /** Beyond it the prompt is not worth sending, even if the provider counts as we do. */
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

/** Below the refused prompt, and below the limit by the provider's count. */
export function refusedLimit(
  state: SessionState,
  setup: PromptSetup,
  estimate: ContextEstimate,
): number {
  const usable = usableLimit(setup, estimate) ?? Number.POSITIVE_INFINITY;
  const share = REFUSED_SHARE * refusedTokens(state, estimate);
  return Math.min(share, usable / countedMore(state, estimate));
}

/** Our estimate of the refused prompt when it was sent: it may have been cut since. */
export function refusedTokens({ usage }: SessionState, { tokens }: ContextEstimate): number {
  return usage.running?.estimate.tokens ?? tokens;
}

/** The provider's tokens for one of ours, at least one. */
export function countedMore(state: SessionState, estimate: ContextEstimate): number {
  const { open } = state.history;
  const counted = open?.error === undefined ? undefined : overflowOf(open.error)?.promptTokens;
  return counted === undefined
    ? 1
    : Math.max(1, counted / Math.max(1, refusedTokens(state, estimate)));
}
