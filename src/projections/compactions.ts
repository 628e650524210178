/** The results of compactions, so that a useless one is not tried again in each step. */

import { z } from "zod";
import type { EventBody } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

export interface CompactionsState {
  /** Compactions since the last step ended, and prompts that were refused as too long. */
  readonly attempts: number;
  readonly overflows: number;
  /** Tokens of the prompt after the last compaction, or when the last one was rejected. */
  readonly settled?: number;
  /** Whether `settled` is an estimate: no prompt was billed since. */
  readonly isGuess: boolean;
  /**
   * Billed tokens for one token of our own count, from the last bill before a compaction. Holds until the
   * next bill.
   */
  readonly scale?: number;
  /** Why the running or the last compaction began. */
  readonly trigger?: EventBody<"context.compaction-started">["data"]["trigger"];
  /** How the last one ended. */
  readonly outcome?: "compacted" | EventBody<"context.compaction-rejected">["data"]["why"];
}

const initial: CompactionsState = { attempts: 0, overflows: 0, isGuess: false };

function stepEnded(state: CompactionsState): CompactionsState {
  return state.attempts === 0 && state.overflows === 0
    ? state
    : { ...state, attempts: 0, overflows: 0 };
}

/** A new bill replaces the scale; for another agent it does not hold. */
export function withoutScale({ scale: _, ...state }: CompactionsState): CompactionsState {
  return state;
}

export const compactions: Projection<CompactionsState> = defineProjection<CompactionsState>({
  name: "compactions",
  version: 3,
  follows: "branch",
  schema: z.lazy(() =>
    z.object({
      attempts: z.int().nonnegative(),
      overflows: z.int().nonnegative(),
      scale: z.number().positive().exactOptional(),
      settled: z.number().nonnegative().exactOptional(),
      isGuess: z.boolean(),
      trigger: z.enum(["asked", "limit", "overflow"]).exactOptional(),
      outcome: z
        .enum(["compacted", "nothing-to-gain", "not-needed", "failed", "cancelled", "recovered"])
        .exactOptional(),
    }),
  ),
  initial,
  on: {
    "turn.started": stepEnded,
    "step.interrupted": stepEnded,
    "step.failed": stepEnded,
    "step.finished": (state, { data: { usage } }) => {
      const before = stepEnded(state);
      if (usage.basis !== "measured" || usage.inputTokens === 0) return before;
      const ended = before.scale === undefined ? before : withoutScale(before);
      if (!ended.isGuess) return ended;
      // The first bill replaces the estimate.
      const settled = Math.max(ended.settled ?? 0, usage.inputTokens);
      return { ...ended, settled, isGuess: false };
    },
    // Earlier attempts do not concern this refusal.
    "context.overflowed": ({ trigger: _, outcome: __, ...state }) => ({
      ...state,
      overflows: state.overflows + 1,
    }),
    "context.compaction-started": (state, { data: { trigger } }) => {
      const { outcome: _, ...rest } = state;
      return { ...rest, attempts: state.attempts + 1, trigger };
    },
    "context.compacted": (state, { data: { afterTokens, scale } }) => ({
      ...withoutScale(state),
      ...(scale === undefined ? {} : { scale }),
      settled: afterTokens,
      isGuess: true,
      outcome: "compacted",
    }),
    "context.compaction-rejected": (state, { data: { why, beforeTokens } }) => ({
      ...state,
      ...(beforeTokens === undefined ? {} : { settled: beforeTokens }),
      outcome: why,
    }),
    "session.configured": (state) => (state.scale === undefined ? state : withoutScale(state)),
    "session.forked": (state, { data: { agent } }) =>
      agent === undefined || state.scale === undefined ? state : withoutScale(state),
    "context.restored": (state) => {
      const { settled: _, ...rest } = state;
      return { ...rest, isGuess: false };
    },
  },
});
