/** Runs a compaction that the machine has asked for, and says in the log what came of it. */

import { estimatePrompt, type CompactionPlan, type CompactionStrategy } from "../context/index.ts";
import type { EventBody } from "../events/index.ts";
import { contextView, promptMessages } from "../projections/index.ts";
import { toStoredError } from "./json-value.ts";
import type { SessionState } from "./session-state.ts";

/** A compaction that does not save at least a tenth is not worth what the model would no longer see. */
const LARGEST_REMAINDER = 0.9;

/** What the strategy makes of this state. */
export function compaction(
  state: SessionState,
  strategy: CompactionStrategy,
  fixedCharacters: number,
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
  const tokens = (view: SessionState["view"]): number =>
    estimatePrompt(fixedCharacters, promptMessages(state.history, view)).tokens;
  const before = tokens(state.view);
  if (plan !== undefined) {
    const body: EventBody<"context.compacted"> = {
      type: "context.compacted",
      data: { strategy: name, ...plan, beforeTokens: before, afterTokens: 0 },
    };
    const after = tokens(contextView.fold(state.view, { seq: state.position + 1, at: 0, ...body }));
    if (after <= before * LARGEST_REMAINDER) {
      return { ...body, data: { ...body.data, afterTokens: after } };
    }
  }
  return {
    type: "context.compaction-rejected",
    data: { strategy: name, why: "nothing-to-gain" },
  };
}
