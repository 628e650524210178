/** The simplest compaction: the model is no longer shown the oldest turns. */

import { amount, check, optionsOf } from "../../validation/index.ts";
import type { CompactionStrategy } from "./compaction-strategy.ts";
import {
  beginsWithUser,
  covering,
  cuttable,
  keptByDefault,
  keptWithin,
  type Cuttable,
  keptBehind,
  tokensFrom,
} from "./shown-units.ts";
import { itemMessages } from "../../projections/index.ts";
import { requestTexts } from "./request-text.ts";
import { runningRequest } from "./running-request.ts";

export interface DropOldestOptions {
  /** The number of newest turns to keep, at least one. */
  readonly keepTurns: number;
}

const schema = optionsOf<DropOldestOptions>({}, { keepTurns: amount });

/**
 * Shows only the newest `keepTurns` turns, and one more if they begin without a request, as a resumed turn does.
 * A request of an older turn is lost, even if that turn failed and a later message only asks to continue. Nothing
 * replaces the dropped turns.
 * @example
 * const context: Agent["context"] = { compact: { when: tokens(50_000), how: dropOldest({ keepTurns: 5 }) } };
 * @throws TurnlogError `INVALID_INPUT` if `keepTurns` is missing or not a number
 */
export function dropOldest(options: DropOldestOptions): CompactionStrategy {
  check(schema, options, "dropOldest", { name: "options" });
  const { keepTurns } = options;
  return {
    name: "drop-oldest",
    forgetsRequest: true,
    plan(history, view, budget) {
      const prompt = cuttable(history, view, budget);
      const oldest = history.turn - Math.max(1, keepTurns);
      let first = prompt.units.findIndex(({ turn }) => turn > oldest);
      if (first === -1) first = prompt.units.length - 1;
      while (first > 0 && !beginsWithUser(prompt, first)) first--;
      return covering(prompt, 0, first, "");
    },
  };
}

// A compaction without a model: shows the oldest and the newest messages, and a note between them.

export interface DropMiddleOptions {
  /**
   * Tokens of the oldest messages to keep; the first message is always kept. Default: a quarter of the kept
   * tokens.
   */
  readonly headTokens?: number;
  /** Tokens of the newest messages to keep. Default: the rest of half of the messages' budget. */
  readonly tailTokens?: number;
}

const dropMiddleSchema = optionsOf<DropMiddleOptions>(
  { headTokens: amount, tailTokens: amount },
  {},
);

/**
 * Keeps the beginning and the end of the prompt; a note between them has the number of hidden messages.
 * @example
 * const context: Agent["context"] = { compact: { when: overflow(), how: dropMiddle() } };
 */
export function dropMiddle(options: DropMiddleOptions = {}): CompactionStrategy {
  check(dropMiddleSchema, options, "dropMiddle", { name: "options" });
  return {
    name: "drop-middle",
    plan(history, view, budget) {
      const prompt = cuttable(history, view, budget);
      const kept = keptByDefault(budget);
      const headTokens = options.headTokens ?? kept / 4;
      const tail = keptWithin(prompt, options.tailTokens ?? kept - headTokens);
      const head = headEnd(prompt, headTokens, (budget?.windowTokens ?? Infinity) / 2);
      const hidden = prompt.units
        .slice(head, tail)
        .flatMap(({ items }) => items)
        .reduce((sum, item) => sum + itemMessages(item).length, 0);
      const note = `[${hidden} messages of this conversation are not shown here.]`;
      return covering(prompt, head, tail, note);
    },
  };
}

/** Keeps the first unit, unless it is too long for the window, and as many more as fit. Never a summary. */
function headEnd({ units, tokens }: Cuttable, most: number, longest: number): number {
  let sum = tokens[0] ?? 0;
  let end = units[0]?.kind === "summary" || sum > longest ? 0 : 1;
  while (end > 0 && end < units.length && units[end]?.kind !== "summary") {
    sum += tokens[end] ?? 0;
    if (sum > most) break;
    end++;
  }
  return end;
}

// A compaction without a model: shows the newest messages that fit.

/** Introduces the request of a turn whose beginning is hidden. */
const REQUEST_NOTE =
  "[Earlier messages are no longer shown. The request that is being worked on was:]";

interface SlidingWindowOptions {
  /** Tokens of messages to keep. Default: half of the messages' budget, or 40,000, less a repeated request. */
  readonly tokens?: number;
}

const slidingWindowSchema = optionsOf<SlidingWindowOptions>({ tokens: amount }, {});

/**
 * Shows only the newest messages. They begin at a turn's request if that leaves at least half of the tokens;
 * otherwise they begin within a long turn, after its request word by word.
 * @example
 * const preview = await session.preview({ compact: slidingWindow() });
 */
export function slidingWindow(options: SlidingWindowOptions = {}): CompactionStrategy {
  check(slidingWindowSchema, options, "slidingWindow", { name: "options" });
  const { tokens } = options;
  return {
    name: "sliding-window",
    plan(history, view, budget) {
      const prompt = cuttable(history, view, budget);
      const most = tokens ?? keptByDefault(budget);
      const first = keptWithin(prompt, most);
      if (first === 0) return undefined;
      const atRequest = nextRequest(prompt, first);
      if (atRequest !== undefined && tokensFrom(prompt, atRequest) >= most / 2) {
        return covering(prompt, 0, atRequest, "");
      }
      const note = (before: number): string => {
        const to = prompt.units[before - 1]?.to ?? 0;
        const requests = requestTexts(runningRequest(history.items, to), history.turn, budget);
        return [REQUEST_NOTE, ...requests.values()].join("\n\n");
      };
      const behind = tokens === undefined ? keptBehind(prompt, budget, note(first)) : first;
      const kept = Math.max(first, behind);
      return covering(prompt, 0, kept, note(kept));
    },
  };
}

/** The next unit that begins a turn. Messages during a turn do not count: they do not contain its request. */
function nextRequest({ units }: Cuttable, from: number): number | undefined {
  const found = units.findIndex(
    (unit, index) => index >= from && unit.kind === "user" && unit.turn !== units[index - 1]?.turn,
  );
  return found === -1 ? undefined : found;
}
