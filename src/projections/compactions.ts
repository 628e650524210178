/** How compactions have gone: what keeps them from being tried again and again. */

import { z } from "zod";
import type { EventBody } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** What was tried so that prompts have room, as far as the next attempt depends on it. */
export interface CompactionsState {
  /** How many were begun since the last step ended, and how many of its prompts were too long. */
  readonly attempts: number;
  readonly overflows: number;
  /** Tokens of the prompt after the last one, or when the last was rejected. */
  readonly settled?: number;
  /** Whether that is a guess: no prompt was billed since. */
  readonly isGuess: boolean;
  /** How many tokens a prompt has for one of our own count, as the last bill told before a compaction: until the next bill. */
  readonly scale?: number;
  /** What the running one is for, or the last one was. */
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

/** A bill says how large prompts are, and another agent's are others. */
function unscaled({ scale: _, ...state }: CompactionsState): CompactionsState {
  return state;
}

/** Folds how compactions went. */
export const compactions: Projection<CompactionsState> = defineProjection<CompactionsState>({
  name: "compactions",
  version: 3,
  schema: z.object({
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
  initial,
  on: {
    "turn.started": stepEnded,
    "step.interrupted": stepEnded,
    "step.failed": stepEnded,
    "step.finished": (state, { data: { usage } }) => {
      const before = stepEnded(state);
      if (usage.basis !== "measured" || usage.inputTokens === 0) return before;
      const ended = before.scale === undefined ? before : unscaled(before);
      if (!ended.isGuess) return ended;
      // The first bill says better than our guess how large the prompt has become.
      const settled = Math.max(ended.settled ?? 0, usage.inputTokens);
      return { ...ended, settled, isGuess: false };
    },
    // What was tried before was not for this refusal.
    "context.overflowed": ({ trigger: _, outcome: __, ...state }) => ({
      ...state,
      overflows: state.overflows + 1,
    }),
    "context.compaction-started": (state, { data: { trigger } }) => {
      const { outcome: _, ...rest } = state;
      return { ...rest, attempts: state.attempts + 1, trigger };
    },
    "context.compacted": (state, { data: { afterTokens, scale } }) => ({
      ...unscaled(state),
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
    "session.configured": (state) => (state.scale === undefined ? state : unscaled(state)),
    "session.forked": (state, { data: { agent } }) =>
      agent === undefined || state.scale === undefined ? state : unscaled(state),
    "context.restored": (state) => {
      const { settled: _, ...rest } = state;
      return { ...rest, isGuess: false };
    },
  },
});
