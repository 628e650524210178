/** The events that make the next prompt fit: prunings, cuts, omitted media, compactions. Pure. */

import {
  aimOf,
  defaultEstimator,
  limitedMedia,
  meter,
  planCuts,
  planInputCuts,
  planOmission,
  planPruning,
  usable,
  type ContextEstimate,
  type PlanBudget,
  planBudget,
} from "../../context/index.ts";
import type { EventBody } from "../../events/index.ts";
import { cacheNow, dueNow, nextEstimate, type PromptSetup } from "./context-figures.ts";
import { compactionChoice, mediaLimits, readerName } from "../../agent/index.ts";
import type { SessionState } from "../../state/index.ts";
import { overflowOf } from "../../projections/index.ts";

export function pruningNow(
  state: SessionState,
  setup: PromptSetup,
  now: number,
  occasion: "step" | "compaction",
): EventBody | undefined {
  const { agent, description } = setup.prepared;
  const { prune = {}, estimator = defaultEstimator } = agent.context ?? {};
  if (prune === false) return undefined;
  const { history, view } = state;
  const plan = planPruning({
    history,
    view,
    meter: meter(estimator, description.model),
    factor: nextEstimate(state, setup, now).recorded.factor ?? 1,
    cache: cacheNow(state, setup, now),
    occasion,
    options: prune,
  });
  if (plan === undefined) return undefined;
  const { calls, savedTokens } = plan;
  return { type: "context.pruned", data: { calls, savedTokens } };
}

/** The cut of new calls with long results or inputs, if one is due. */
export function cutsNow(
  { history, view }: SessionState,
  { prepared: { agent } }: PromptSetup,
  budget: PlanBudget,
): EventBody | undefined {
  const { cut = {} } = agent.context ?? {};
  if (cut === false) return undefined;
  const reader = readerName(agent);
  const named = reader === undefined ? {} : { reader };
  const planning = { history, view, budget, options: cut, ...named };
  const plan = planCuts(planning);
  const inputs = planInputCuts(planning);
  if (plan === undefined && inputs === undefined) return undefined;
  return {
    type: "context.cut",
    data: {
      calls: [],
      ...plan,
      ...inputs,
      savedTokens: (plan?.savedTokens ?? 0) + (inputs?.savedTokens ?? 0),
      ...named,
    },
  };
}

/** The omission of the oldest media, if the request would be too large. */
export function omissionNow(
  { history, view }: SessionState,
  { prepared: { agent, description } }: PromptSetup,
  { bytes }: ContextEstimate,
  most = Number.POSITIVE_INFINITY,
): EventBody | undefined {
  const { context } = agent;
  if (context?.media === false) return undefined;
  const known = mediaLimits(description.model, context);
  const limits = Number.isFinite(most) ? limitedMedia(known, { requestBytes: most }) : known;
  const { model } = description;
  const plan = limits && planOmission({ history, view, bytes, limits, model });
  return plan && { type: "context.media-omitted", data: plan };
}

/** The start of a compaction, if one is due. */
export function compactionNow(
  state: SessionState,
  setup: PromptSetup,
  estimate: ContextEstimate,
  now: number,
): EventBody | undefined {
  const choice = compactionChoice(setup.prepared.agent.context);
  if (choice === undefined || dueNow(state, setup, estimate, now) !== "compact") return undefined;
  return {
    type: "context.compaction-started",
    data: { trigger: "limit", strategy: choice.how.name },
  };
}

// The token limits of a prompt, by our estimator: before it is sent, and after a refusal. Pure.

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
interface CompactedLimits {
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
  const choice = compactionChoice(prepared.agent.context);
  return choice === undefined ? usable(estimate) : aimOf(choice.when, estimate);
}

export function budgetBelow(
  limit: number | undefined,
  { prepared: { agent, description } }: PromptSetup,
  estimate: ContextEstimate,
  most: number | undefined = limit,
): PlanBudget {
  const measure = meter(agent.context?.estimator ?? defaultEstimator, description.model);
  return planBudget(limit, estimate, measure, most);
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
