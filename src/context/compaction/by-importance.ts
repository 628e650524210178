/** A compaction without a model: a note replaces the least important range of the prompt. */

import { amount, check, code, optionsOf } from "../../validation/index.ts";
import type { HistoryState, CallPart, HistoryItem } from "../../projections/index.ts";
import type { CompactionStrategy, PlanBudget } from "./compaction-strategy.ts";
import {
  covering,
  cuttable,
  keptByDefault,
  keptWithin,
  tokensFrom,
  usualBudget,
  type Cuttable,
  messageCount,
  userItems,
} from "./shown-units.ts";
import { requestText, requestTexts, textWithin } from "./request-text.ts";
import { runningRequest } from "./running-request.ts";
import type { JsonValue } from "../../events/index.ts";

export interface ByImportanceOptions {
  /**
   * How important a turn is: a number from 0. Must be pure. Default: points for users' messages,
   * decisions about approvals, calls that change something, failures, and later turns that refer to it.
   */
  readonly score?: (turn: ScoredTurn) => number;
  /** Tokens of messages to keep. Default: half of the messages' budget, or 40,000. */
  readonly keep?: number;
}

const schema = optionsOf<ByImportanceOptions>({ score: code, keep: amount }, {});

/** The share of the kept tokens for the newest messages, however unimportant. */
const NEWEST_SHARE = 0.5;

/** The share of the kept tokens for earlier turns' requests in the note. */
const REQUESTS_SHARE = 0.125;

/** If they would get fewer tokens each, requests are left out: a few words are of no use. */
const LEGIBLE_TOKENS = 20;

/** How many times a plan may grow to free tokens for its own note. */
const ROUNDS = 3;

/**
 * Covers the range of messages that is long enough and has the lowest score, where a turn's score is spread
 * evenly over its tokens. A note replaces the range and has the number of hidden messages and their requests. The
 * newest half of the kept messages always stays.
 * @example
 * const how = byImportance({ score: ({ items }) => items.filter(({ kind }) => kind === "user").length })
 * @throws TurnlogError `INVALID_INPUT` for options of wrong types
 */
export function byImportance(options: ByImportanceOptions = {}): CompactionStrategy {
  check(schema, options, "byImportance", { name: "options" });
  const { score = defaultScore } = options;
  return {
    name: "by-importance",
    plan(history, view, budget) {
      const prompt = cuttable(history, view, budget);
      const keep = options.keep ?? keptByDefault(budget);
      const excess = tokensFrom(prompt, 0) - keep;
      const end = keptWithin(prompt, keep * NEWEST_SHARE);
      if (excess <= 0 || end === 0) return undefined;
      const weights = weightsOf(prompt, end, score);
      const replacement = (by: UnitRange): Note =>
        noteOf(prompt, by, history, budget ?? usualBudget, keep * REQUESTS_SHARE);
      let range = leastImportant(prompt, weights, excess);
      let note = replacement(range);
      for (let round = 1; round < ROUNDS; round++) {
        const wider = leastImportant(prompt, weights, excess + note.tokens);
        if (wider.first === range.first && wider.end === range.end) break;
        range = wider;
        note = replacement(range);
      }
      return covering(prompt, range.first, range.end, note.text);
    },
  };
}

/** Units from `first` to `end` (not included). */
interface UnitRange {
  readonly first: number;
  readonly end: number;
}

interface Note {
  readonly text: string;
  readonly tokens: number;
}

/** The score of each unit before `end`: its turn's, by its share of the turn's tokens. */
function weightsOf(
  { units, tokens }: Cuttable,
  end: number,
  score: (turn: ScoredTurn) => number,
): readonly number[] {
  const turnTokens = new Map<number, number>();
  units.forEach(({ turn }, index) => {
    turnTokens.set(turn, (turnTokens.get(turn) ?? 0) + (tokens[index] ?? 0));
  });
  const scores = new Map(
    scoredTurns(units.flatMap(({ items }) => items)).map((turn) => [
      turn.turn,
      scoreOf(turn, score),
    ]),
  );
  return units.slice(0, end).map(({ turn }, index) => {
    const whole = turnTokens.get(turn) ?? 0;
    return whole === 0 ? 0 : ((scores.get(turn) ?? 0) * (tokens[index] ?? 0)) / whole;
  });
}

/** @throws RangeError for a score that is not a number from 0 */
function scoreOf(turn: ScoredTurn, score: (turn: ScoredTurn) => number): number {
  const answer: unknown = score(turn);
  if (typeof answer === "number" && Number.isFinite(answer) && answer >= 0) return answer;
  throw new RangeError(
    `\`score\` of byImportance answered ${String(answer)} for turn ${turn.turn}. Return a number from 0.`,
  );
}

/**
 * The range of at least `least` tokens with the lowest sum, the oldest of equal ones; all if there are
 * fewer tokens. A range of summaries alone would gain nothing.
 */
function leastImportant(
  { units, tokens }: Cuttable,
  weights: readonly number[],
  least: number,
): UnitRange {
  let best: (UnitRange & { readonly weight: number }) | undefined;
  let [first, size, weight, fresh] = [0, 0, 0, 0];
  const isFresh = (index: number): boolean => units[index]?.kind !== "summary";
  for (let end = 1; end <= weights.length; end++) {
    size += tokens[end - 1] ?? 0;
    weight += weights[end - 1] ?? 0;
    if (isFresh(end - 1)) fresh++;
    // The shortest range that ends here: weights are never negative.
    while (
      size - (tokens[first] ?? 0) >= least &&
      first < end - 1 &&
      (fresh > 1 || !isFresh(first))
    ) {
      size -= tokens[first] ?? 0;
      weight -= weights[first] ?? 0;
      if (isFresh(first)) fresh--;
      first++;
    }
    if (size >= least && fresh > 0 && (best === undefined || weight < best.weight - 1e-9)) {
      best = { first, end, weight };
    }
  }
  return best ?? { first: 0, end: weights.length };
}

/** Finished requests share `most` tokens and are cut to their beginning and end. */
function noteOf(
  { units }: Cuttable,
  { first, end }: UnitRange,
  { items: all, turn }: HistoryState,
  budget: PlanBudget,
  most: number,
): Note {
  const covered = units.slice(first, end);
  const hidden = covered.reduce((sum, unit) => sum + messageCount(unit), 0);
  const requests = userItems(covered);
  const texts = requestTexts(runningRequest(all), turn, budget);
  // A message that was sent again is the same request, so texts are compared.
  const running = new Map([...texts].map(([one, text]) => [requestText(one), text]));
  const share = most / requests.filter((one) => !running.has(requestText(one))).length;
  const isLegible = share >= LEGIBLE_TOKENS;
  const told = requests.flatMap((request) => {
    const text = running.get(requestText(request));
    if (text !== undefined) return [text];
    return isLegible ? [textWithin(requestText(request), share, budget)] : [];
  });
  const head = `[${hidden} messages of this conversation are not shown here.`;
  const text = [
    told.length === 0 ? `${head}]` : `${head} The user's requests among them:]`,
    ...new Set(told),
  ].join("\n\n");
  return { text, tokens: budget.meter.text(text).text * budget.factor };
}

// The importance of a turn: the argument of {@link byImportance}'s score function, and the default score. Pure.

/** A turn as a score function sees it. */
interface ScoredTurn {
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
