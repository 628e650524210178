/** What is to be done so that the next prompt has room: decided from a session's state alone. Pure. */

import {
  compactionDue,
  defaultEstimator,
  limitedMedia,
  meter,
  planCuts,
  planOmission,
  planPruning,
  promptCache,
  usable,
  type ContextEstimate,
  type PlanBudget,
} from "../../context/index.ts";
import type { EventBody } from "../../events/index.ts";
import { limitsNow, nextEstimate, type PromptSetup } from "./context-figures.ts";
import { compactionChoice, mediaLimits, readerName } from "../../agent/index.ts";
import type { SessionState } from "../../state/index.ts";

/** Compactions that are tried for one step before its prompt is sent. */
const MOST_ATTEMPTS = 2;

/** What old tool results give way now, as an event. */
export function pruningNow(
  state: SessionState,
  setup: PromptSetup,
  now: number,
  occasion: "step" | "compaction",
): EventBody | undefined {
  const { agent, description } = setup.prepared;
  const { prune = {}, estimator = defaultEstimator } = agent.context ?? {};
  if (prune === false) return undefined;
  const { history, view, usage } = state;
  const plan = planPruning({
    history,
    view,
    meter: meter(estimator, description.model),
    factor: nextEstimate(state, setup, now).recorded.factor ?? 1,
    cache: promptCache(usage, description.model, limitsNow(state, setup, now), now),
    occasion,
    options: prune,
  });
  if (plan === undefined) return undefined;
  const { calls, savedTokens } = plan;
  return { type: "context.pruned", data: { calls, savedTokens } };
}

/**
 * What new tool results are shown cut from now on, as an event.
 * @param planning what the prompt may have.
 */
export function cutsNow(
  { history, view }: SessionState,
  { prepared: { agent } }: PromptSetup,
  budget: PlanBudget,
): EventBody | undefined {
  const { cut = {} } = agent.context ?? {};
  if (cut === false) return undefined;
  const reader = readerName(agent);
  const named = reader === undefined ? {} : { reader };
  const plan = planCuts({ history, view, budget, options: cut, ...named });
  return plan && { type: "context.cut", data: { ...plan, ...named } };
}

/** Which media are no longer shown from now on, as the request would be too large, as an event. */
export function omissionNow(
  { history, view }: SessionState,
  { prepared: { agent, description } }: PromptSetup,
  { bytes }: ContextEstimate,
  most: number = Number.POSITIVE_INFINITY,
): EventBody | undefined {
  const { context } = agent;
  if (context?.media === false) return undefined;
  const known = mediaLimits(description.model, context);
  const limits = Number.isFinite(most) ? limitedMedia(known, { requestBytes: most }) : known;
  const { model } = description;
  const plan = limits && planOmission({ history, view, bytes, limits, model });
  return plan && { type: "context.media-omitted", data: plan };
}

/**
 * The beginning of a compaction, where the next prompt is beyond its limit. Where it does not even
 * fit its model, each turn tries anew: what filled the prompt may be a message that was never sent.
 */
export function compactionNow(
  { compactions, machine }: SessionState,
  setup: PromptSetup,
  estimate: ContextEstimate,
): EventBody | undefined {
  const choice = compactionChoice(setup.prepared.agent.context);
  const { attempts, settled } = compactions;
  if (choice === undefined || attempts >= MOST_ATTEMPTS) return undefined;
  const isNewTurn = machine.context.stepsInTurn === 0 && attempts === 0;
  const isTooLong = estimate.tokens > (usable(estimate) ?? Number.POSITIVE_INFINITY);
  const last = isNewTurn && isTooLong ? undefined : settled;
  if (compactionDue(choice.when, estimate, last) !== "compact") return undefined;
  return {
    type: "context.compaction-started",
    data: { trigger: "limit", strategy: choice.how.name },
  };
}
