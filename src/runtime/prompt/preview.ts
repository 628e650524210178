/** The prompt that a compaction would leave. Writes nothing and calls no model. */

import type { ModelMessage } from "ai";
import { deepFreeze } from "../../events/index.ts";
import type { CompactionPlan, CompactionStrategy } from "../../context/index.ts";
import { contextView, promptMessages } from "../../projections/index.ts";
import { compaction, inContextTokens } from "./compaction-end.ts";
import { plainTokens, type PromptSetup } from "./context-figures.ts";
import { compactionBudget } from "./headroom.ts";
import type { SessionState } from "../../state/index.ts";

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

export function previewCompaction(
  state: SessionState,
  strategy: CompactionStrategy,
  setup: PromptSetup,
  now: number,
): CompactionPreview {
  const tokensOf = (one: SessionState): number => plainTokens(one, setup, now);
  const budget = compactionBudget(state, setup, now);
  const own = compaction(state, strategy, tokensOf, budget);
  const body = inContextTokens(state, own, setup, now);
  const { name } = strategy;
  const { position } = state;
  if (body.type !== "context.compacted") {
    const { beforeTokens = 0 } = body.data;
    return deepFreeze({
      strategy: name,
      position,
      outcome: body.data.why === "failed" ? "failed" : "nothing-to-gain",
      prompt: promptMessages(state.history, state.view),
      beforeTokens,
      afterTokens: beforeTokens,
    });
  }
  const { covers, summary, beforeTokens, afterTokens } = body.data;
  const view = contextView.fold(state.view, { position: position + 1, time: now, ...body });
  return deepFreeze({
    strategy: name,
    position,
    outcome: "compacted",
    plan: { covers: { ...covers }, summary },
    prompt: promptMessages(state.history, view),
    beforeTokens,
    afterTokens,
  });
}
