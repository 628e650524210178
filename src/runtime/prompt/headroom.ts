/** What the next prompt can do without, and the limits of its tokens: before it is sent, and after a refusal. Pure. */

import {
  aimOf,
  defaultEstimator,
  limitOf,
  limitedMedia,
  meter,
  planBudget,
  planCuts,
  planInputCuts,
  planOmission,
  planPruning,
  usable,
  type PlanBudget,
} from "../../context/index.ts";
import type { EventBody } from "../../events/index.ts";
import { compactionChoice, mediaLimits, readerName } from "../../agent/index.ts";
import { overflowOf } from "../../projections/index.ts";
import { cacheAt, type Place } from "./context-figures.ts";

/** The cut of new calls with long results or inputs, if one is due. */
export function cutsWithin(
  { state: { history, view }, setup }: Place,
  budget: PlanBudget,
): EventBody | undefined {
  const { agent } = setup.prepared;
  const { cut = {} } = agent.context ?? {};
  if (cut === false) return undefined;
  const reader = readerName(agent);
  const named = reader === undefined ? {} : { reader };
  const planning = { history, view, budget, options: cut, ...named };
  const plan = planCuts(planning);
  const inputs = planInputCuts(planning);
  if (plan === undefined && inputs === undefined) return undefined;
  const savedTokens = (plan?.savedTokens ?? 0) + (inputs?.savedTokens ?? 0);
  const data = { calls: [], ...plan, ...inputs, savedTokens, ...named };
  return { type: "context.cut", data };
}

/** The old tool results that a step or a compaction leaves out, if any. */
export function pruningFor(place: Place, occasion: "step" | "compaction"): EventBody | undefined {
  const { agent, description } = place.setup.prepared;
  const { prune = {}, estimator = defaultEstimator } = agent.context ?? {};
  if (prune === false) return undefined;
  const { history, view } = place.state;
  const plan = planPruning({
    history,
    view,
    meter: meter(estimator, description.model),
    factor: place.estimate.recorded.factor ?? 1,
    cache: cacheAt(place),
    occasion,
    options: prune,
  });
  if (plan === undefined) return undefined;
  const { calls, savedTokens } = plan;
  return { type: "context.pruned", data: { calls, savedTokens } };
}

/** The omission of the oldest media, if the request would be too large. */
export function omissionBelow(
  { state: { history, view }, setup, estimate: { bytes } }: Place,
  most = Number.POSITIVE_INFINITY,
): EventBody | undefined {
  const { agent, description } = setup.prepared;
  const { context } = agent;
  if (context?.media === false) return undefined;
  const { model } = description;
  const known = mediaLimits(model, context);
  const limits = Number.isFinite(most) ? limitedMedia(known, { requestBytes: most }) : known;
  const plan = limits && planOmission({ history, view, bytes, limits, model });
  return plan && { type: "context.media-omitted", data: plan };
}

// The token limits of a prompt, by our estimator: before it is sent, and after a refusal.

/** The share of a refused prompt that is allowed next, if its limit is unknown. */
export const REFUSED_SHARE = 0.75;

/** The budget of messages before the next step. */
export function stepBudget(place: Place): PlanBudget {
  return budgetBelow(triggered(place, limitOf), place, usable(place.estimate));
}

/** The tokens for which a compaction plans. After a refusal, they follow the provider's count. */
export function aimAt(place: Place): number {
  return place.state.compactions.trigger === "overflow"
    ? refusedLimit(place)
    : triggered(place, aimOf);
}

/** Beyond them a compacted prompt is not worth sending, even if the provider counts as we do. */
export function mostTokens(place: Place): number {
  const most = usable(place.estimate);
  const isRefused = place.state.compactions.trigger === "overflow";
  return isRefused ? Math.min(REFUSED_SHARE * refusedTokens(place), most) : most;
}

/** The room for a compaction's messages: where the window is not known, what the trigger allows is all that is. */
export function roomAt(place: Place): number {
  const most = mostTokens(place);
  return most === Infinity ? triggered(place, limitOf) : most;
}

/** A figure of the agent's trigger. */
function triggered({ setup, estimate }: Place, figure: typeof aimOf): number {
  const choice = compactionChoice(setup.prepared.agent.context);
  return choice === undefined ? usable(estimate) : figure(choice.when, estimate);
}

export function budgetBelow(
  limit: number,
  { setup, estimate }: Place,
  most: number = limit,
): PlanBudget {
  const { agent, description } = setup.prepared;
  const measure = meter(agent.context?.estimator ?? defaultEstimator, description.model);
  return planBudget(limit, estimate, measure, most);
}

/** Below the refused prompt, and below the limit by the provider's count. */
export function refusedLimit(place: Place): number {
  const limit = triggered(place, limitOf) / countedMore(place);
  return Math.min(REFUSED_SHARE * refusedTokens(place), limit);
}

/** Our estimate of the refused prompt when it was sent: it may have been cut since. */
export function refusedTokens({ state, estimate }: Place): number {
  return state.usage.running?.estimate.tokens ?? estimate.tokens;
}

/** The provider's tokens for one of ours, at least one. */
export function countedMore(place: Place): number {
  const { open } = place.state.history;
  const counted = open?.error === undefined ? undefined : overflowOf(open.error)?.promptTokens;
  return counted === undefined ? 1 : Math.max(1, counted / Math.max(1, refusedTokens(place)));
}
