/**
 * The prompt in pieces that may be parted from each other: what one cut may take away as a whole. A
 * step is one piece, so no call is parted from its result, no parallel batch is broken and reasoning
 * stays with what follows it; steps that share a call of the provider's own are one piece as well,
 * and so are messages that were delivered together.
 */

import {
  itemMessages,
  type Compaction,
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
export function shownUnits(history: HistoryState, view: ContextView): readonly ShownUnit[] {
  const units: ShownUnit[] = [];
  let lastBy: Compaction | undefined;
  for (const item of history.items) {
    const by = view.compactions.findLast(
      ({ from, to }) => from <= item.position && item.position <= to,
    );
    const last = units.at(-1);
    // A compacted stretch is one piece; the end of a turn shows nothing and goes with what it ends;
    // messages that were delivered together have one position, and a cut lies between positions.
    const belongs =
      by === lastBy && (by !== undefined || item.kind === "turn-end" || item.position === last?.to);
    if (last !== undefined && belongs) {
      units[units.length - 1] = { ...last, to: item.position, items: [...last.items, item] };
    } else {
      units.push(newUnit(item, by?.summary));
    }
    lastBy = by;
  }
  return joined(units);
}

function newUnit(item: HistoryItem, summary: string | undefined): ShownUnit {
  const { position, turn } = item;
  const kind = item.kind === "user" ? "user" : "step";
  const unit = { kind, from: position, to: position, turn, items: [item] } as const;
  return summary === undefined ? unit : { ...unit, kind: "summary", summary };
}

/** Ids of the provider's own calls, or of the results that it gave. */
function providerIds(
  { items }: ShownUnit,
  kind: "provider-call" | "provider-result",
): readonly string[] {
  return items.flatMap((item) =>
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
