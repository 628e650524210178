/**
 * The prompt as units that a cut may separate. One unit: a step with its results and reasoning, steps that
 * share a provider call, messages that were delivered together. Pure.
 */

import {
  itemMessages,
  itemRanges,
  type ContextView,
  type HistoryItem,
  type HistoryState,
  type UserItem,
} from "../../projections/index.ts";

export interface ShownUnit {
  /** The kind of its first message. `summary`: an earlier compaction. */
  readonly kind: "user" | "step" | "summary";
  readonly from: number;
  readonly to: number;
  readonly turn: number;
  readonly items: readonly HistoryItem[];
  /** Of an earlier compaction: the summary, which may be empty. */
  readonly summary?: string;
}

/** The units of all finished items, oldest first, without the open step. */
export function shownUnits({ items }: HistoryState, view: ContextView): readonly ShownUnit[] {
  const units = itemRanges(items, view.compactions).flatMap(({ start, end, by }) => {
    const run = items.slice(start, end);
    return by === undefined ? plainUnits(run) : compactedUnit(run, by.summary);
  });
  return joined(units);
}

function compactedUnit(items: readonly HistoryItem[], summary: string): readonly ShownUnit[] {
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return [];
  const { position: from, turn } = first;
  return [{ kind: "summary", from, to: last.position, turn, items, summary }];
}

/**
 * The end of a turn belongs to the unit before it. A cut is between two positions, and messages that were
 * delivered together have one.
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

function providerIds(
  unit: ShownUnit,
  kind: "provider-call" | "provider-result",
): readonly string[] {
  // A compaction covers both call and result, or their turn is over.
  if (unit.kind === "summary") return [];
  const ids: string[] = [];
  for (const item of unit.items)
    if (item.kind === "step")
      for (const part of item.parts) if (part.kind === kind) ids.push(part.callId);
  return ids;
}

/** Whether a provider's result may still come for a call of the unit. */
export function isPending(unit: ShownUnit): boolean {
  if (unit.kind !== "step" || unit.items.some(({ kind }) => kind === "turn-end")) return false;
  const answered = new Set(providerIds(unit, "provider-result"));
  return providerIds(unit, "provider-call").some((id) => !answered.has(id));
}

function joined(units: readonly ShownUnit[]): readonly ShownUnit[] {
  const result: ShownUnit[] = [];
  const waiting = new Map<string, number>();
  for (const unit of units) {
    const answered = providerIds(unit, "provider-result");
    const called = providerIds(unit, "provider-call");
    // Nearly all units.
    if (answered.length === 0 && called.length === 0) {
      result.push(unit);
      continue;
    }
    const first = Math.min(result.length, ...answered.map((id) => waiting.get(id) ?? Infinity));
    result.push(merged(result.splice(first), unit));
    for (const [id, index] of waiting) waiting.set(id, Math.min(index, first));
    for (const id of called) waiting.set(id, first);
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

export function userItems(units: readonly ShownUnit[]): readonly UserItem[] {
  return units.flatMap(({ items }) => items.filter((item) => item.kind === "user"));
}

export function messageCount(unit: ShownUnit): number {
  if (unit.summary !== undefined) return unit.summary === "" ? 0 : 1;
  return unit.items.reduce((sum, item) => sum + itemMessages(item).length, 0);
}
