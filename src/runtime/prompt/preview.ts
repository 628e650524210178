/** What a way of compacting would leave of a prompt: nothing is written, and no model is asked. */

import type { ModelMessage } from "ai";
import { deepFreeze } from "../../events/index.ts";
import type { CompactionPlan, CompactionStrategy } from "../../context/index.ts";
import { contextView, promptMessages } from "../../projections/index.ts";
import { compaction, inContextTokens } from "./compaction-end.ts";
import { plainTokens, type PromptSetup } from "./context-figures.ts";
import { compactionBudget } from "./prompt-limits.ts";
import type { SessionState } from "../../state/index.ts";

/** Which compaction is looked at, and where. */
export interface PreviewOptions {
  /** Default: as the agent is set up. Where a model would be asked, its digest without one is shown. */
  readonly compact?: CompactionStrategy;
  /** A position; default: now. */
  readonly at?: number;
}

/** What a compaction would leave of the prompt. */
export interface CompactionPreview {
  readonly strategy: string;
  readonly position: number;
  /** `nothing-to-gain` where less than a tenth would be saved, `failed` where the strategy throws. */
  readonly outcome: "compacted" | "nothing-to-gain" | "failed";
  /** What would be covered, and by what. */
  readonly plan?: CompactionPlan;
  /** The messages that a step would send then. */
  readonly prompt: readonly ModelMessage[];
  /** Tokens of the prompt as it is (those of `session.context()`) and as it would be, by the same scale. */
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
