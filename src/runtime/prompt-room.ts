/** What is to be done so that the next prompt has room: decided from a session's state alone. Pure. */

import {
  compactionDue,
  defaultEstimator,
  meter,
  planningGround,
  limitedMedia,
  planCuts,
  planOmission,
  planPruning,
  promptCache,
  type ContextEstimate,
  type PlanningGround,
} from "../context/index.ts";
import type { EventBody } from "../events/index.ts";
import { isTooLarge, noUsage, overflowOf } from "../projections/index.ts";
import { limitsNow, nextEstimate, type ContextGround } from "./context-figures.ts";
import {
  compactionChoice,
  compactionHow,
  mediaLimits,
  type ContextOptions,
} from "./context-options.ts";
import { readerName } from "./reader-tool.ts";
import type { SessionState } from "./session-state.ts";

/** Compactions that are tried for one step. */
const MOST_ATTEMPTS = 2;
/** Of a prompt that was refused as too long and whose limit nobody tells. */
const REFUSED_SHARE = 0.75;

/** What old tool results give way now, as an event. */
export function pruningNow(
  state: SessionState,
  ground: ContextGround,
  now: number,
  occasion: "step" | "compaction",
): EventBody | undefined {
  const { agent, description } = ground.prepared;
  const { prune = {}, estimator = defaultEstimator } = agent.context ?? {};
  if (prune === false) return undefined;
  const { history, view, usage } = state;
  const plan = planPruning({
    history,
    view,
    meter: meter(estimator, description.model),
    factor: nextEstimate(state, ground, now).recorded.factor ?? 1,
    cache: promptCache(usage, description.model, limitsNow(state, ground, now), now),
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
  { prepared: { agent } }: ContextGround,
  planning: PlanningGround,
): EventBody | undefined {
  const { cut = {} } = agent.context ?? {};
  if (cut === false) return undefined;
  const reader = readerName(agent);
  const named = reader === undefined ? {} : { reader };
  const plan = planCuts({ history, view, ground: planning, options: cut, ...named });
  return plan && { type: "context.cut", data: { ...plan, ...named } };
}

/** Which media are no longer shown from now on, as the request would be too large, as an event. */
export function omissionNow(
  { history, view }: SessionState,
  { prepared: { agent, description } }: ContextGround,
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

/** Media that are left out after a request that was too large in bytes, as an event. */
export function omissionAfterRefusal(
  state: SessionState,
  ground: ContextGround,
  now: number,
): EventBody | undefined {
  const { history, machine } = state;
  const { error } = history.open ?? {};
  if (error === undefined || !isTooLarge(error) || machine.context.stopping !== undefined)
    return undefined;
  const estimate = nextEstimate(state, ground, now);
  return omissionNow(state, ground, estimate, REFUSED_SHARE * estimate.bytes);
}

/** The beginning of a compaction, where the next prompt is beyond its limit. */
export function compactionNow(
  { compactions }: SessionState,
  ground: ContextGround,
  estimate: ContextEstimate,
): EventBody | undefined {
  const choice = compactionChoice(ground.prepared.agent.context);
  if (choice === undefined || compactions.attempts >= MOST_ATTEMPTS) return undefined;
  if (compactionDue(choice.when, estimate, compactions.settled) !== "compact") return undefined;
  return {
    type: "context.compaction-started",
    data: { trigger: "limit", strategy: choice.how.name },
  };
}

/** What messages may have before the next step, by our own count. */
export function stepGround(ground: ContextGround, estimate: ContextEstimate): PlanningGround {
  return groundBelow(usableLimit(ground, estimate), ground, estimate);
}

/** What a strategy may leave: what the limit has for messages, by our own count. */
export function compactionGround(
  state: SessionState,
  ground: ContextGround,
  now: number,
): PlanningGround {
  const estimate = nextEstimate(state, ground, now);
  const limit =
    state.compactions.trigger === "overflow"
      ? refusedLimit(state, ground, estimate)
      : usableLimit(ground, estimate);
  return groundBelow(limit, ground, estimate);
}

/**
 * What new tool results are cut, or cut again, after a prompt that was too long, as an event; and
 * what the prompt may have then.
 */
export function cutsAfterOverflow(
  state: SessionState,
  ground: ContextGround,
  now: number,
): { readonly cut: EventBody; readonly limit: number } | undefined {
  const { machine, compactions } = state;
  const tried = compactions.trigger === "overflow" && compactions.attempts > 0;
  if (tried || machine.context.stopping !== undefined) return undefined;
  const estimate = nextEstimate(state, ground, now);
  const limit = refusedLimit(state, ground, estimate);
  const cut = cutsNow(state, ground, groundBelow(limit, ground, estimate));
  return cut && { cut, limit };
}

function usableLimit({ prepared }: ContextGround, estimate: ContextEstimate): number | undefined {
  return compactionChoice(prepared.agent.context)?.when.limit(estimate) ?? usableRoom(estimate);
}

function groundBelow(
  limit: number | undefined,
  { prepared: { agent, description } }: ContextGround,
  estimate: ContextEstimate,
): PlanningGround {
  const measure = meter(agent.context?.estimator ?? defaultEstimator, description.model);
  const known = { name: "limit", atLimit: "compact", limit: () => limit } as const;
  return planningGround(known, estimate, measure);
}

function usableRoom({ room }: ContextEstimate): number | undefined {
  return room === undefined ? undefined : room.window - room.outputBuffer;
}

/** Below the prompt that was refused, and below the limit as the provider counts. */
function refusedLimit(
  { history: { open } }: SessionState,
  ground: ContextGround,
  estimate: ContextEstimate,
): number {
  const { tokens } = estimate;
  const usable = usableLimit(ground, estimate);
  const counted = open?.error === undefined ? undefined : overflowOf(open.error)?.promptTokens;
  const more = counted === undefined ? 1 : Math.max(1, counted / Math.max(1, tokens));
  return Math.min(REFUSED_SHARE * tokens, (usable ?? Number.POSITIVE_INFINITY) / more);
}

/**
 * What follows when the provider refused a prompt as too long: a compaction, the same step once
 * more (`retry`), or its end.
 */
export function afterOverflow(
  { machine, compactions, history }: SessionState,
  context: ContextOptions | undefined,
): EventBody | "retry" {
  const { step, stopping } = machine.context;
  const { trigger, outcome, attempts } = compactions;
  const usage = noUsage;
  const tried = trigger === "overflow" && attempts > 0;
  if (tried && outcome === "recovered") {
    return { type: "step.interrupted", data: { step, reason: "recovered", usage } };
  }
  if (stopping !== undefined || (tried && outcome === "cancelled")) {
    return { type: "step.interrupted", data: { step, reason: "cancelled", usage } };
  }
  if (tried && outcome === "compacted") return "retry";
  if (!tried && attempts < MOST_ATTEMPTS && compactionChoice(context) !== undefined) {
    const { name } = compactionHow(context);
    return { type: "context.compaction-started", data: { trigger: "overflow", strategy: name } };
  }
  const error = history.open?.error ?? { name: "Error", message: "The prompt is too long." };
  return { type: "step.failed", data: { step, kind: "context-overflow", error, usage } };
}
