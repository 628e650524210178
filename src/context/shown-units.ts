/**
 * The prompt in pieces that may be parted from each other: what one cut may take away as a whole. A
 * step is one piece, so no call is parted from its result, no parallel batch is broken and reasoning
 * stays with what follows it; steps that share a call of the provider's own are one piece as well,
 * and so are messages that were delivered together.
 */

import {
  itemMessages,
  itemRuns,
  type ContextView,
  type HistoryItem,
  type HistoryState,
} from "../projections/index.ts";

export interface ShownUnit {
  /** What the model sees first of it. `summary` is a stretch that was compacted before. */
  readonly kind: "user" | "step" | "summary";
  /** Positions of its first and last item. */
  readonly from: number;
  readonly to: number;
  readonly turn: number;
  readonly items: readonly HistoryItem[];
  /** Of a compacted stretch, what stands for it; may be empty. */
  readonly summary?: string;
}

/** Everything that is over, in pieces, oldest first. The step that runs is in none of them. */
export function shownUnits({ items }: HistoryState, view: ContextView): readonly ShownUnit[] {
  const units = itemRuns(items, view.compactions).flatMap(({ start, end, by }) => {
    const run = items.slice(start, end);
    return by === undefined ? plainUnits(run) : compactedUnit(run, by.summary);
  });
  return joined(units);
}

/** A compacted stretch is one piece. */
function compactedUnit(items: readonly HistoryItem[], summary: string): readonly ShownUnit[] {
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return [];
  const { position: from, turn } = first;
  return [{ kind: "summary", from, to: last.position, turn, items, summary }];
}

/**
 * The end of a turn shows nothing and goes with what it ends; messages that were delivered together
 * have one position, and a cut lies between positions.
 */
function plainUnits(items: readonly HistoryItem[]): readonly ShownUnit[] {
  const units: ShownUnit[] = [];
  for (const item of items) {
    const last = units.at(-1);
    if (last !== undefined && (item.kind === "turn-end" || item.position === last.to)) {
      units[units.length - 1] = { ...last, to: item.position, items: [...last.items, item] };
    } else {
      const { position, turn } = item;
      const kind = item.kind === "user" ? "user" : "step";
      units.push({ kind, from: position, to: position, turn, items: [item] });
    }
  }
  return units;
}

/** Ids of the provider's own calls, or of the results that it gave. */
function providerIds(
  unit: ShownUnit,
  kind: "provider-call" | "provider-result",
): readonly string[] {
  // Cuts part no call from its result: what a compaction covers has both, or its turn is over.
  if (unit.kind === "summary") return [];
  return unit.items.flatMap((item) =>
    item.kind === "step"
      ? item.parts.flatMap((part) => (part.kind === kind ? [part.callId] : []))
      : [],
  );
}

/** Whether a result of the provider may still come that belongs to it: its turn is not over. */
export function isPending(unit: ShownUnit): boolean {
  if (unit.kind !== "step" || unit.items.some(({ kind }) => kind === "turn-end")) return false;
  const answered = new Set(providerIds(unit, "provider-result"));
  return providerIds(unit, "provider-call").some((id) => !answered.has(id));
}

/** A result that comes in a later step makes one piece of all from its call on. */
function joined(units: readonly ShownUnit[]): readonly ShownUnit[] {
  const result: ShownUnit[] = [];
  /** Where each call is that has no result yet. */
  const waiting = new Map<string, number>();
  for (const unit of units) {
    const answered = providerIds(unit, "provider-result");
    const first = Math.min(result.length, ...answered.map((id) => waiting.get(id) ?? Infinity));
    result.push(merged(result.splice(first), unit));
    for (const [id, index] of waiting) waiting.set(id, Math.min(index, first));
    for (const id of providerIds(unit, "provider-call")) waiting.set(id, first);
    for (const id of answered) waiting.delete(id);
  }
  return result;
}

function merged(earlier: readonly ShownUnit[], last: ShownUnit): ShownUnit {
  const [first = last] = earlier;
  if (first === last) return last;
  const items = [...earlier, last].flatMap((unit) => unit.items);
  return { ...first, to: last.to, items };
}

/** How many messages it gives to the prompt. */
export function messageCount(unit: ShownUnit): number {
  if (unit.summary !== undefined) return unit.summary === "" ? 0 : 1;
  return unit.items.reduce((sum, item) => sum + itemMessages(item).length, 0);
}
