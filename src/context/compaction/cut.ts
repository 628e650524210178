/** Where a compaction may cut the prompt, and how large the rest would be. Every strategy uses this file. */

import {
  itemMessages,
  shownItem,
  type ContextView,
  type HistoryItem,
  type HistoryState,
} from "../../projections/index.ts";
import type { CompactionPlan, PlanBudget } from "./compaction-strategy.ts";
import { addSize, meter, noSize } from "../estimate/message-size.ts";
import { isPending, messageCount, shownUnits, type ShownUnit } from "./shown-units.ts";
import { defaultEstimator } from "../estimate/token-estimator.ts";

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
