/** Where the prompt may be cut, and what a cut would leave. Every strategy cuts through this file only. */

import {
  itemMessages,
  shownItem,
  type ContextView,
  type HistoryItem,
  type HistoryState,
} from "../projections/index.ts";
import type { CompactionPlan, PlanBudget } from "./compaction-strategy.ts";
import { addSize, meter, noSize } from "./message-size.ts";
import { isPending, messageCount, shownUnits, type ShownUnit } from "./shown-units.ts";
import { defaultEstimator } from "./token-estimator.ts";

/** The prompt as pieces, with their sizes in tokens. A cut lies before a piece, by its index. */
export interface Cuttable {
  readonly units: readonly ShownUnit[];
  readonly tokens: readonly number[];
  /** Tokens of what is never cut away: the step that runs, and a call that its provider has yet to answer. */
  readonly openTokens: number;
  /** Messages of that. */
  readonly openMessages: number;
}

/** Where the model is not known, it is taken for one of no kind. */
const usualBudget = { meter: meter(defaultEstimator, { provider: "", modelId: "" }), factor: 1 };

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

/** Whether what is kept from a piece on begins with what a user said, so that nothing need stand before it. */
export function beginsWithUser({ units }: Cuttable, first: number): boolean {
  const shown = units.slice(first).find((unit) => messageCount(unit) > 0);
  return shown?.kind === "user" || shown?.kind === "summary";
}

/** The oldest piece from which on everything has no more than so many tokens; the newest one is always kept. */
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

/** Tokens of everything from a piece on. */
export function tokensFrom({ tokens, openTokens }: Cuttable, first: number): number {
  return tokens.slice(first).reduce((sum, one) => sum + one, openTokens);
}

/**
 * The plan that covers the pieces from `first` up to and without `end`. Undefined where that is
 * nothing, or no more than one stretch that is a summary already.
 */
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

/** Tokens of messages that a compaction leaves, where nothing else is said. */
const KEPT_TOKENS = 40_000;

/** Half of what messages may have: room for as much again before the next compaction. */
export function keptByDefault(budget: PlanBudget | undefined): number {
  return budget?.messageTokens === undefined ? KEPT_TOKENS : budget.messageTokens / 2;
}

/**
 * The oldest piece that is kept behind a text of ours: with it, half of what messages may have. Of
 * a text that takes most of that itself, a quarter is kept beside it.
 */
export function keptBehind(prompt: Cuttable, budget: PlanBudget | undefined, text: string): number {
  const half = keptByDefault(budget);
  const { meter: measure, factor } = budget ?? usualBudget;
  return keptWithin(prompt, Math.max(half - measure.text(text).text * factor, half / 2));
}
