/** How a compaction ends: what a strategy makes of a state, and whether that is worth it. Pure. */

import type { CompactionPlan, CompactionStrategy, PlanBudget } from "../../context/index.ts";
import { deepFreeze, type EventBody } from "../../events/index.ts";
import { compactions, contextView } from "../../projections/index.ts";
import { nextEstimate, type PromptSetup } from "./context-figures.ts";
import { toStoredError } from "../../shared/index.ts";
import type { SessionState } from "../../state/index.ts";

/** A compaction that does not save at least a tenth is not worth what the model would no longer see. */
const LARGEST_REMAINDER = 0.9;

export type Origin = Pick<EventBody<"context.compacted">["data"], "rung" | "model" | "usage">;

/** The plan as an event, if the prompt becomes at least a tenth smaller. */
export function shorter(
  state: SessionState,
  { name }: CompactionStrategy,
  plan: CompactionPlan,
  tokensOf: (state: SessionState) => number,
  origin: Origin,
): EventBody<"context.compacted"> | undefined {
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

/** How a compaction ends. */
export type CompactionEnd =
  | EventBody<"context.compacted">
  | EventBody<"context.compaction-rejected">;

/** What the strategy makes of this state without asking a model; `tokensOf` estimates the prompt of one. */
export function compaction(
  state: SessionState,
  strategy: CompactionStrategy,
  tokensOf: (state: SessionState) => number,
  budget?: PlanBudget,
  origin: Origin = {},
): CompactionEnd {
  const { name } = strategy;
  const beforeTokens = tokensOf(state);
  try {
    // Strategies are users' code, and may not change what they plan for.
    const { history, view } = deepFreeze({ history: state.history, view: state.view });
    const plan = strategy.plan(history, view, budget);
    const body = plan && shorter(state, strategy, plan, tokensOf, origin);
    return (
      body ?? {
        type: "context.compaction-rejected",
        data: { strategy: name, why: "nothing-to-gain", beforeTokens },
      }
    );
  } catch (error) {
    return {
      type: "context.compaction-rejected",
      data: { strategy: name, why: "failed", error: toStoredError(error), beforeTokens },
    };
  }
}

/**
 * The same end, told in what the next prompt is estimated at: the tokens of `session.context()`, before
 * and behind it, by the scale that a bill or a count has set before.
 */
export function inContextTokens(
  state: SessionState,
  { type, data }: CompactionEnd,
  setup: PromptSetup,
  now: number,
): CompactionEnd {
  const beforeTokens = nextEstimate(state, setup, now).tokens;
  if (type === "context.compaction-rejected") return { type, data: { ...data, beforeTokens } };
  const own = data.beforeTokens;
  const scale = own > 0 && beforeTokens > 0 ? beforeTokens / own : 1;
  const scaled = { ...data, beforeTokens, ...(scale === 1 ? {} : { scale }) };
  const event = { position: state.position + 1, time: now, type, data: scaled };
  const afterTokens = nextEstimate(
    {
      ...state,
      view: contextView.fold(state.view, event),
      compactions: compactions.fold(state.compactions, event),
    },
    setup,
    now,
  ).tokens;
  if (afterTokens <= beforeTokens * LARGEST_REMAINDER)
    return { type, data: { ...scaled, afterTokens } };
  const { strategy } = data;
  const why = "nothing-to-gain";
  return { type: "context.compaction-rejected", data: { strategy, why, beforeTokens } };
}
