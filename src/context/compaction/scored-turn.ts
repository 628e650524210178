/** How important a turn is: what the score function of {@link byImportance} gets, and the default score. Pure. */

import type { CallPart, HistoryItem } from "../../projections/index.ts";
import type { JsonValue } from "../../events/index.ts";

/** A turn as a score function sees it. */
export interface ScoredTurn {
  readonly turn: number;
  /** The messages, steps and the end of the turn that the prompt still contains. */
  readonly items: readonly HistoryItem[];
  /** Later turns that call a tool with a text that this turn's calls have in their input, for instance a path. */
  readonly referredBy: number;
}

/** Words in the names of tools that change something. */
const changing = new Set(
  "add append apply commit create delete edit insert move patch remove rename replace save send update write".split(
    " ",
  ),
);

const REFERENCE_LENGTH = { least: 4, most: 500 };

/**
 * A point for each user message, 3 for a decision about an approval, 2 for a call that changes something,
 * 2 for a failure, and one for each later turn that refers to this one, up to five.
 */
export function defaultScore({ items, referredBy }: ScoredTurn): number {
  const points = items.reduce((sum, item) => sum + itemPoints(item), 0);
  return points + Math.min(referredBy, 5);
}

function itemPoints(item: HistoryItem): number {
  switch (item.kind) {
    case "user":
      return 1;
    case "step":
      return calls(item).reduce((sum, call) => sum + callPoints(call), failed(item) ? 2 : 0);
    case "note":
    case "turn-end":
      return 0;
  }
}

function failed(item: HistoryItem): boolean {
  return item.kind === "step" && item.status === "failed";
}

function callPoints({ toolName, outcome, approvals = [] }: CallPart): number {
  const decisions = approvals.filter(({ answer }) => answer !== undefined).length;
  const failure = outcome.status === "failed" || outcome.status === "unknown" ? 2 : 0;
  return decisions * 3 + failure + (changes(toolName) ? 2 : 0);
}

function changes(toolName: string): boolean {
  return toolName.split(/(?=[A-Z])|[^a-zA-Z]+/).some((word) => changing.has(word.toLowerCase()));
}

function calls(item: HistoryItem): readonly CallPart[] {
  return item.kind === "step" ? item.parts.filter((part) => part.kind === "call") : [];
}

/** The turns of a prompt's items, oldest first, each with the number of later turns that refer to it. */
export function scoredTurns(items: readonly HistoryItem[]): readonly ScoredTurn[] {
  const turns = Map.groupBy(items, ({ turn }) => turn);
  const texts = new Map(
    [...turns].map(([turn, own]) => [
      turn,
      new Set(own.flatMap(calls).flatMap(({ input }) => references(input))),
    ]),
  );
  const users = new Map<string, number[]>();
  for (const [turn, own] of texts) {
    for (const text of own) users.set(text, [...(users.get(text) ?? []), turn]);
  }
  return [...turns].map(([turn, own]) => {
    const later = [...(texts.get(turn) ?? [])].flatMap((text) => users.get(text) ?? []);
    const referring = new Set(later.filter((other) => other > turn));
    return { turn, items: own, referredBy: referring.size };
  });
}

function references(input: JsonValue): readonly string[] {
  if (typeof input === "string") {
    const { length } = input;
    return length >= REFERENCE_LENGTH.least && length <= REFERENCE_LENGTH.most ? [input] : [];
  }
  if (typeof input !== "object" || input === null) return [];
  return Object.values(input).flatMap(references);
}
