/**
 * The prompt as units that a cut may separate (a step with its results and reasoning, steps that share a provider call,
 * messages that were delivered together), and how large the rest of a cut would be. Every strategy uses this file. Pure.
 */

import {
  itemMessages,
  itemRanges,
  type ContextView,
  type HistoryItem,
  type HistoryState,
  type UserItem,
  shownItem,
} from "../../projections/index.ts";
import type { CompactionPlan, PlanBudget } from "./compaction-strategy.ts";
import { addSize, meter, noSize } from "../estimate/message-size.ts";
import { defaultEstimator } from "../estimate/token-estimator.ts";

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

// Where a compaction may cut the prompt, and how large the rest would be. Every strategy uses this file.

/** The prompt as units with their sizes in tokens. A cut is the index of the first unit after it. */
export interface Cuttable {
  readonly units: readonly ShownUnit[];
  readonly tokens: readonly number[];
  /** Tokens that are never cut away: the running step, and a provider call that waits for its result. */
  readonly openTokens: number;
  readonly openMessages: number;
}

/** The budget if the model is not known. */
export const usualBudget: PlanBudget = {
  meter: meter(defaultEstimator, { provider: "", modelId: "" }),
  factor: 1,
};

export function cuttable(
  history: HistoryState,
  view: ContextView,
  budget: PlanBudget | undefined,
): Cuttable {
  const { meter: measure, factor } = budget ?? usualBudget;
  const shown = (items: readonly HistoryItem[]): ReturnType<typeof itemMessages> =>
    items.flatMap((item) => itemMessages(shownItem(item, view)));
  const tokensOf = (messages: ReturnType<typeof itemMessages>): number => {
    const { text, media, around } = messages
      .map((message) => measure.message(message))
      .reduce(addSize, noSize);
    return text * factor + media + around;
  };
  const all = shownUnits(history, view);
  const pending = all.findIndex((unit) => unit.turn === history.turn && isPending(unit));
  const units = pending === -1 ? all : all.slice(0, pending);
  const openItems = pending === -1 ? [] : all.slice(pending).flatMap(({ items }) => items);
  const open = shown([...openItems, ...(history.open === undefined ? [] : [history.open])]);
  return {
    units,
    tokens: units.map(({ summary, items }) =>
      summary === undefined ? tokensOf(shown(items)) : measure.text(summary).text * factor,
    ),
    openTokens: tokensOf(open),
    openMessages: open.length,
  };
}

export function beginsWithUser({ units }: Cuttable, first: number): boolean {
  const shown = units.slice(first).find((unit) => messageCount(unit) > 0);
  return shown?.kind === "user" || shown?.kind === "summary";
}

/** The first unit of a rest with at most `most` tokens. The newest unit is always kept. */
export function keptWithin({ units, tokens, openTokens }: Cuttable, most: number): number {
  let kept = openTokens;
  let first = units.length;
  while (first > 0) {
    kept += tokens[first - 1] ?? 0;
    const isNewest = first === units.length && openTokens === 0;
    if (kept > most && !isNewest) break;
    first--;
  }
  return first;
}

export function tokensFrom({ tokens, openTokens }: Cuttable, first: number): number {
  return tokens.slice(first).reduce((sum, one) => sum + one, openTokens);
}

/** The plan that covers units up to `end` (not included); undefined if these contain only summaries. */
export function covering(
  { units }: Cuttable,
  first: number,
  end: number,
  summary: string,
): CompactionPlan | undefined {
  const covered = units.slice(first, end);
  const [from, to] = [covered[0]?.from, covered.at(-1)?.to];
  if (from === undefined || to === undefined) return undefined;
  if (covered.every((unit) => unit.kind === "summary" || messageCount(unit) === 0))
    return undefined;
  return { covers: { from, to }, summary };
}

const KEPT_TOKENS = 40_000;

/** Half of the messages' budget, so that the prompt can double before the next compaction. */
export function keptByDefault(budget: PlanBudget | undefined): number {
  return budget?.messageTokens === undefined ? KEPT_TOKENS : budget.messageTokens / 2;
}

/** The first unit to keep after a text: both together have half of the messages' budget, the rest a quarter. */
export function keptBehind(prompt: Cuttable, budget: PlanBudget | undefined, text: string): number {
  const half = keptByDefault(budget);
  const { meter: measure, factor } = budget ?? usualBudget;
  return keptWithin(prompt, Math.max(half - measure.text(text).text * factor, half / 2));
}
