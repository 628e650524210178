/** The results of compactions, so that a useless one is not tried again in each step. */

import { z } from "zod";
import type { EventBody } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";
import type { Compaction } from "./context-view.ts";
import type { HistoryItem } from "./history-item.ts";

export interface CompactionsState {
  /** Compactions since the last step ended, and prompts that were refused as too long. */
  readonly attempts: number;
  readonly overflows: number;
  /** Tokens of the prompt after the last compaction, or when the last one was rejected. */
  readonly settled?: number;
  /** Whether `settled` is an estimate: no prompt was billed since. */
  readonly isGuess: boolean;
  /** Turns that ended since the last compaction. */
  readonly turns: number;
  /** A change to the prompt was undone, and the size of what was brought back is not known yet. */
  readonly isUndone?: true;
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

const initial: CompactionsState = { attempts: 0, overflows: 0, isGuess: false, turns: 0 };

function stepEnded(state: CompactionsState): CompactionsState {
  return state.attempts === 0 && state.overflows === 0
    ? state
    : { ...state, attempts: 0, overflows: 0 };
}

/** A new bill replaces the scale; for another agent it does not hold. */
export function withoutScale({ scale: _, ...state }: CompactionsState): CompactionsState {
  return state;
}

/** Once the prompt with what was brought back was sent, or compacted, or found too small for that. */
function sent({ isUndone: _, ...state }: CompactionsState): CompactionsState {
  return state;
}

export const compactions: Projection<CompactionsState> = defineProjection<CompactionsState>({
  name: "compactions",
  version: 4,
  follows: "branch",
  schema: z.lazy(() =>
    z.object({
      attempts: z.int().nonnegative(),
      overflows: z.int().nonnegative(),
      scale: z.number().positive().exactOptional(),
      settled: z.number().nonnegative().exactOptional(),
      isGuess: z.boolean(),
      turns: z.int().nonnegative(),
      isUndone: z.literal(true).exactOptional(),
      trigger: z.enum(["asked", "limit", "overflow"]).exactOptional(),
      outcome: z
        .enum(["compacted", "nothing-to-gain", "not-needed", "failed", "cancelled", "recovered"])
        .exactOptional(),
    }),
  ),
  initial,
  on: {
    "turn.started": stepEnded,
    "turn.ended": (state) => ({ ...state, turns: state.turns + 1 }),
    "step.started": (state, { data: { estimate } }) =>
      state.isUndone ? { ...sent(state), settled: estimate.tokens, isGuess: true } : state,
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
      ...withoutScale(sent(state)),
      ...(scale === undefined ? {} : { scale }),
      settled: afterTokens,
      isGuess: true,
      turns: 0,
      outcome: "compacted",
    }),
    "context.compaction-rejected": (state, { data: { why, beforeTokens } }) => ({
      ...(beforeTokens === undefined ? state : { ...sent(state), settled: beforeTokens }),
      outcome: why,
    }),
    "session.configured": (state) => (state.scale === undefined ? state : withoutScale(state)),
    "session.forked": (state, { data: { agent } }) =>
      agent === undefined || state.scale === undefined ? state : withoutScale(state),
    "context.restored": (state) => {
      const { settled: _, ...rest } = state;
      return { ...rest, isGuess: false, isUndone: true };
    },
  },
});

// Which compaction covers which items: the newer of two that overlap. By binary search, so covered items are
// never visited.

/** A range of positions (both included) that one compaction covers. */
interface CoveredRange {
  readonly from: number;
  readonly to: number;
  readonly by: Compaction;
}

/** Consecutive items by index: `start` included, `end` not. */
interface ItemRange {
  readonly start: number;
  readonly end: number;
  /** The compaction that covers them; absent if they are shown. */
  readonly by?: Compaction;
}

type Compactions = readonly Compaction[];

const known = new WeakMap<Compactions, readonly CoveredRange[]>();

/** In the order of the log, without overlap. Computed once for each view. */
function coveredRanges(compactions: Compactions): readonly CoveredRange[] {
  const found = known.get(compactions);
  if (found !== undefined) return found;
  const made: CoveredRange[] = [];
  for (const by of compactions.toReversed()) {
    let { from } = by;
    for (const newer of made.slice()) {
      if (newer.to < from || newer.from > by.to) continue;
      if (newer.from > from) made.push({ from, to: newer.from - 1, by });
      from = newer.to + 1;
    }
    if (from <= by.to) made.push({ from, to: by.to, by });
    made.sort((one, other) => one.from - other.from);
  }
  known.set(compactions, made);
  return made;
}

export function coveredBy(compactions: Compactions, position: number): Compaction | undefined {
  const ranges = coveredRanges(compactions);
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle]?.to ?? position) < position) low = middle + 1;
    else high = middle;
  }
  const found = ranges[low];
  return found !== undefined && found.from <= position ? found.by : undefined;
}

/** All items, as ranges that are shown or covered. */
export function itemRanges(
  items: readonly HistoryItem[],
  compactions: Compactions,
): readonly ItemRange[] {
  const ranges: ItemRange[] = [];
  let index = 0;
  for (const { from, to, by } of coveredRanges(compactions)) {
    const start = firstFrom(items, from, index);
    const end = firstFrom(items, to + 1, start);
    if (start === end) continue;
    if (start > index) ranges.push({ start: index, end: start });
    const last = ranges.at(-1);
    // The range between them has no items.
    if (last?.by === by) ranges[ranges.length - 1] = { ...last, end };
    else ranges.push({ start, end, by });
    index = end;
  }
  if (index < items.length) ranges.push({ start: index, end: items.length });
  return ranges;
}

export function firstFrom(items: readonly HistoryItem[], position: number, first = 0): number {
  let [low, high] = [first, items.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle]?.position ?? position) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}
