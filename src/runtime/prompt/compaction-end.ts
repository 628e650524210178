/**
 * The event that ends a compaction: the agent's own strategy if it saves enough and the prompt then fits its model,
 * else one that leaves out more. So the next short message can always be sent. Pure.
 */

import type { ModelMessage } from "ai";
import {
  newestTokens,
  onlyTheNewest,
  onlyThisTurn,
  onlyThisTurnAtLast,
  unsentMessages,
  withRunningRequest,
  type CompactionPlan,
  type CompactionStrategy,
  type PlanBudget,
} from "../../context/index.ts";
import { deepFreeze, type EventBody } from "../../events/index.ts";
import { compactions, contextView, promptMessages } from "../../projections/index.ts";
import { compactionChoice } from "../../agent/index.ts";
import { toStoredError } from "../../shared/index.ts";
import type { SessionState } from "../../state/index.ts";
import { nextEstimate, plainTokens, type Place } from "./context-figures.ts";
import { aimAt, budgetBelow, countedMore, mostTokens, pruningFor, roomAt } from "./headroom.ts";

/** A compaction must save at least a tenth of the prompt. */
const LARGEST_REMAINDER = 0.9;

export type Origin = Pick<EventBody<"context.compacted">["data"], "rung" | "model" | "usage">;

export type CompactionEnd =
  | EventBody<"context.compacted">
  | EventBody<"context.compaction-rejected">;

/** A prompt that a strategy is to compact. */
export interface CompactionCase extends Place {
  readonly strategy: CompactionStrategy;
  readonly budget: PlanBudget;
  /** Tokens beyond which the prompt is not worth sending, and those that the model is known to refuse. */
  readonly most: number;
  readonly window: number;
}

export function caseOf(place: Place, strategy: CompactionStrategy): CompactionCase {
  const most = mostTokens(place);
  const budget = budgetBelow(aimAt(place), place, roomAt(place));
  return { ...place, strategy, budget, most, window: place.estimate.room?.window ?? Infinity };
}

/**
 * The event of a plan, which keeps the running request; undefined if the prompt does not become at least a
 * tenth smaller.
 */
function shorter(
  state: SessionState,
  { name, forgetsRequest }: CompactionStrategy,
  own: CompactionPlan,
  tokensOf: (state: SessionState) => number,
  budget: PlanBudget | undefined,
  origin: Origin,
): EventBody<"context.compacted"> | undefined {
  const { history, view: shown } = state;
  const plan = forgetsRequest === true ? own : withRunningRequest(own, history, shown, budget);
  const beforeTokens = tokensOf(state);
  const body: EventBody<"context.compacted"> = {
    type: "context.compacted",
    data: { strategy: name, ...plan, ...origin, beforeTokens, afterTokens: 0 },
  };
  const view = contextView.fold(state.view, { position: state.position + 1, time: 0, ...body });
  const afterTokens = tokensOf({ ...state, view });
  if (afterTokens > beforeTokens * LARGEST_REMAINDER) return undefined;
  return { ...body, data: { ...body.data, afterTokens } };
}

/** The end of a strategy's compaction without a model. `tokensOf` estimates the prompt of a state. */
export function compaction(
  state: SessionState,
  strategy: CompactionStrategy,
  tokensOf: (state: SessionState) => number,
  budget?: PlanBudget,
  origin: Origin = {},
): CompactionEnd {
  const rejection = { strategy: strategy.name, beforeTokens: tokensOf(state) };
  try {
    // Strategies are users' code and must not change the state.
    const { history, view } = deepFreeze({ history: state.history, view: state.view });
    const plan = strategy.plan(history, view, budget);
    const body = plan && shorter(state, strategy, plan, tokensOf, budget, origin);
    return (
      body ?? {
        type: "context.compaction-rejected",
        data: { ...rejection, why: "nothing-to-gain" },
      }
    );
  } catch (error) {
    const data = { ...rejection, why: "failed", error: toStoredError(error) } as const;
    return { type: "context.compaction-rejected", data };
  }
}

/** The same end with tokens as `session.context()` shows them, by the scale of the last bill or count. */
function inContextTokens(
  { state, setup, now, estimate: { tokens: beforeTokens } }: Place,
  { type, data }: CompactionEnd,
): CompactionEnd {
  if (type === "context.compaction-rejected") return { type, data: { ...data, beforeTokens } };
  const own = data.beforeTokens;
  const scale = own > 0 && beforeTokens > 0 ? beforeTokens / own : 1;
  const scaled = { ...data, beforeTokens, ...(scale === 1 ? {} : { scale }) };
  const event = { position: state.position + 1, time: now, type, data: scaled };
  const after = {
    ...state,
    view: contextView.fold(state.view, event),
    compactions: compactions.fold(state.compactions, event),
  };
  const afterTokens = nextEstimate(after, setup, now).tokens;
  if (afterTokens <= beforeTokens * LARGEST_REMAINDER)
    return { type, data: { ...scaled, afterTokens } };
  const { strategy } = data;
  const why = "nothing-to-gain";
  return { type: "context.compaction-rejected", data: { strategy, why, beforeTokens } };
}

const tokensAt =
  ({ setup, now }: Place) =>
  (state: SessionState): number =>
    plainTokens(state, setup, now);

export function rejected(
  { strategy, estimate }: CompactionCase,
  why: EventBody<"context.compaction-rejected">["data"]["why"],
): EventBody<"context.compaction-rejected"> {
  const data = { strategy: strategy.name, why, beforeTokens: estimate.tokens };
  return { type: "context.compaction-rejected", data };
}

function ended(
  given: CompactionCase,
  strategy: CompactionStrategy = given.strategy,
  origin: Origin = {},
): CompactionEnd {
  const end = compaction(given.state, strategy, tokensAt(given), given.budget, origin);
  return inContextTokens(given, end);
}

/** The event of a summary that a model wrote; undefined if it is too long. */
export function written(
  given: CompactionCase,
  plan: CompactionPlan,
  origin: Origin,
): CompactionEnd | undefined {
  const { state, strategy, budget } = given;
  const body = shorter(state, strategy, plan, tokensAt(given), budget, origin);
  const end = body && inContextTokens(given, body);
  if (end?.type !== "context.compacted") return undefined;
  return orOnlyThisTurn(given, end) === end ? end : undefined;
}

/** The end without a model. */
export function finalEnd(given: CompactionCase, origin: Origin): CompactionEnd {
  return orOnlyThisTurn(given, ended(given, given.strategy, origin));
}

/**
 * An end that precedes the agent's strategy: a rejection if the newest message alone is too long, messages
 * that were never sent, or after a second refusal the smallest prompt without a model.
 */
export function withoutStrategy(given: CompactionCase): CompactionEnd | undefined {
  const { state, budget, estimate, window } = given;
  const { instructions, tools } = estimate.breakdown;
  const newest = newestTokens(state.history, state.view, budget);
  // A user's strategy may cut even the newest message.
  if (newest + instructions + tools > window && tokensAfter(ended(given)) > window)
    return rejected(given, "nothing-to-gain");
  const unsent = ended(given, unsentMessages);
  if (unsent.type === "context.compacted" && fits(given, unsent)) return unsent;
  const { trigger, overflows, attempts } = state.compactions;
  const isLast = trigger === "overflow" && (overflows > 1 || attempts > 2);
  return isLast ? smallest(given) : undefined;
}

/**
 * Whether a compaction that begins now would change nothing. One that prunes or counts the prompt may, and a
 * model's summary is only known once it is written; a strategy that fails is reported by its rejection.
 */
export function isInVain(given: CompactionCase): boolean {
  const { context } = given.setup.prepared.agent;
  if (given.strategy.writer !== undefined || context?.counter !== undefined) return false;
  if (pruningFor(given, "compaction") !== undefined) return false;
  const end = orOnlyThisTurn(given, withoutStrategy(given) ?? ended(given));
  return end.type === "context.compaction-rejected" && end.data.why === "nothing-to-gain";
}

export function canBeShorter(given: CompactionCase): boolean {
  return smallest(given).type === "context.compacted";
}

function smallest(given: CompactionCase): CompactionEnd {
  const own = ended(given);
  if (!isCompacted(given)) return own;
  const least = onlyThis(given);
  return tokensAfter(least) < tokensAfter(own) ? least : own;
}

/**
 * All before this turn left out but for the running request; where that does not fit, the earlier steps of the
 * turn too; and the request itself where the newest step is too long for both.
 */
function onlyThis(given: CompactionCase): CompactionEnd {
  const limit = mostForRequest(given);
  const isFitting = (end: CompactionEnd): boolean => tokensAfter(end) <= limit;
  const last = ended(given, onlyThisTurnAtLast);
  if (given.strategy.forgetsRequest === true || !isFitting(last)) return last;
  const end = ended(given, onlyThisTurn);
  if (isFitting(end)) return end;
  const newest = ended(given, onlyTheNewest);
  return isFitting(newest) ? newest : last;
}

/** Tokens that a prompt with the running request may have: all that the model is known to take. */
function mostForRequest(given: CompactionCase): number {
  const { most, window } = given;
  const { trigger, overflows } = given.state.compactions;
  if (trigger !== "overflow") return window;
  // After a second refusal, neither the known window nor the provider's count is to be trusted.
  if (overflows > 1 || window === Infinity) return most;
  return window / countedMore(given);
}

/** Keeps the end of an automatic compaction, or leaves out all before this turn if only that fits the model. */
function orOnlyThisTurn(given: CompactionCase, end: CompactionEnd): CompactionEnd {
  const isAsked = given.state.compactions.trigger === "asked";
  if (isAsked || fits(given, end) || !isCompacted(given)) return end;
  const least = onlyThis(given);
  if (least.type !== "context.compacted" || tokensAfter(least) >= tokensAfter(end)) return end;
  return fits(given, least) || tokensAfter(end) > given.window ? least : end;
}

function isCompacted({ setup }: CompactionCase): boolean {
  return compactionChoice(setup.prepared.agent.context) !== undefined;
}

function fits({ most }: CompactionCase, end: CompactionEnd): boolean {
  return tokensAfter(end) <= most;
}

function tokensAfter({ type, data }: CompactionEnd): number {
  return type === "context.compacted" ? data.afterTokens : (data.beforeTokens ?? Infinity);
}

// The prompt that a compaction would leave. Writes nothing and calls no model.

/** The prompt that a compaction would leave. */
export interface CompactionPreview {
  readonly strategy: string;
  readonly position: number;
  /** `nothing-to-gain` if less than a tenth would be saved, `failed` if the strategy throws. */
  readonly outcome: "compacted" | "nothing-to-gain" | "failed";
  /** The covered positions and the summary in their place. */
  readonly plan?: CompactionPlan;
  readonly prompt: readonly ModelMessage[];
  /** Tokens of the prompt now (as `session.context()` shows them) and after the compaction. */
  readonly beforeTokens: number;
  readonly afterTokens: number;
}

export function previewCompaction(place: Place, how: CompactionStrategy): CompactionPreview {
  const { state, messages, estimate, now } = place;
  const { position } = state;
  const strategy = how.name;
  const end = ended(caseOf(place, how));
  if (end.type === "context.compaction-rejected") {
    const outcome = end.data.why === "failed" ? "failed" : "nothing-to-gain";
    const { tokens } = estimate;
    const unchanged = { prompt: messages, beforeTokens: tokens, afterTokens: tokens };
    return deepFreeze({ strategy, position, outcome, ...unchanged });
  }
  const { covers, summary, beforeTokens, afterTokens } = end.data;
  const view = contextView.fold(state.view, { position: position + 1, time: now, ...end });
  return deepFreeze({
    strategy,
    position,
    outcome: "compacted",
    plan: { covers: { ...covers }, summary },
    prompt: promptMessages(state.history, view),
    beforeTokens,
    afterTokens,
  });
}
