/** Runs a compaction that the machine has asked for, and says in the log what came of it. */

import type { CompactionPlan, CompactionStrategy } from "../context/index.ts";
import type { EventBody } from "../events/index.ts";
import { contextView } from "../projections/index.ts";
import { toStoredError } from "./json-value.ts";
import type { SessionState } from "./session-state.ts";

/** A compaction that does not save at least a tenth is not worth what the model would no longer see. */
const LARGEST_REMAINDER = 0.9;

/** What the strategy makes of this state; `tokensOf` estimates the prompt of one. */
export function compaction(
  state: SessionState,
  strategy: CompactionStrategy,
  tokensOf: (state: SessionState) => number,
): EventBody {
  const { name } = strategy;
  let plan: CompactionPlan | undefined;
  try {
    plan = strategy.plan(state.history, state.view);
  } catch (error) {
    return {
      type: "context.compaction-rejected",
      data: { strategy: name, why: "failed", error: toStoredError(error) },
    };
  }
  const before = tokensOf(state);
  if (plan !== undefined) {
    const body: EventBody<"context.compacted"> = {
      type: "context.compacted",
      data: { strategy: name, ...plan, beforeTokens: before, afterTokens: 0 },
    };
    const view = contextView.fold(state.view, { seq: state.position + 1, at: 0, ...body });
    const after = tokensOf({ ...state, view });
    if (after <= before * LARGEST_REMAINDER) {
      return { ...body, data: { ...body.data, afterTokens: after } };
    }
  }
  return {
    type: "context.compaction-rejected",
    data: { strategy: name, why: "nothing-to-gain" },
  };
}
