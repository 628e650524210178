/**
 * Which compaction covers which items: the newer of two that overlap. By binary search, so covered items are
 * never visited.
 */

import type { Compaction } from "./context-view.ts";
import type { HistoryItem } from "./history-item.ts";

/** A range of positions (both included) that one compaction covers. */
interface CoveredRange {
  readonly from: number;
  readonly to: number;
  readonly by: Compaction;
}

/** Consecutive items by index: `start` included, `end` not. */
export interface ItemRange {
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
