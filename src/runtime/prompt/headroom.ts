/** The events that make the next prompt fit: prunings, cuts, omitted media, compactions. Pure. */

import {
  compactionDue,
  defaultEstimator,
  limitedMedia,
  meter,
  planCuts,
  planInputCuts,
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

/** Compactions for one step before its prompt is sent. */
const MOST_ATTEMPTS = 2;

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
    cache: promptCache(
      usage,
      description.model,
      limitsNow(state, setup, now),
      now,
      typeof agent.promptCache === "object" ? agent.promptCache.ttl : undefined,
    ),
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

/**
 * The start of a compaction, if the next prompt is above its limit. If it does not even fit its model,
 * each turn tries anew: the cause may be a message that was never sent.
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
