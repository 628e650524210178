/** The event that ends a compaction: the plan of a strategy, if it saves enough. Pure. */

import {
  withRunningRequest,
  type CompactionPlan,
  type CompactionStrategy,
  type PlanBudget,
} from "../../context/index.ts";
import { deepFreeze, type EventBody } from "../../events/index.ts";
import { compactions, contextView } from "../../projections/index.ts";
import { nextEstimate, type PromptSetup } from "./context-figures.ts";
import { toStoredError } from "../../shared/index.ts";
import type { SessionState } from "../../state/index.ts";

/** A compaction must save at least a tenth of the prompt. */
const LARGEST_REMAINDER = 0.9;

export type Origin = Pick<EventBody<"context.compacted">["data"], "rung" | "model" | "usage">;

/**
 * The event of a plan, which keeps the running request; undefined if the prompt does not become at least a
 * tenth smaller.
 */
export function shorter(
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

export type CompactionEnd =
  | EventBody<"context.compacted">
  | EventBody<"context.compaction-rejected">;

/** The end of a strategy's compaction without a model. `tokensOf` estimates the prompt of a state. */
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
    // Strategies are users' code and must not change the state.
    const { history, view } = deepFreeze({ history: state.history, view: state.view });
    const plan = strategy.plan(history, view, budget);
    const body = plan && shorter(state, strategy, plan, tokensOf, budget, origin);
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

/** The same end with tokens as `session.context()` shows them, by the scale of the last bill or count. */
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
