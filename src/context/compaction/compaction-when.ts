/** Decides before each step whether to compact, and with which budget. Pure. */

import { TurnlogError } from "../../events/index.ts";
import type { CompactionsState, HistoryState } from "../../projections/index.ts";
import type { ContextEstimate } from "../estimate/context-estimate.ts";
import type { PlanBudget } from "./compaction-strategy.ts";
import type { Meter } from "../estimate/message-size.ts";

/** What is known before a step. */
export interface CompactionFacts {
  readonly history: HistoryState;
  /** Estimated tokens of the next prompt. */
  readonly tokens: number;
  /** The context window of its model, in tokens; absent if it is not known. */
  readonly window?: number;
  /** Turns that ended since the last compaction. */
  readonly turns: number;
  /** Steps that the turn has had: 0 when a message begins it. */
  readonly steps: number;
  /** Milliseconds since a model last ended a step; absent before the first. */
  readonly idleMs?: number;
  /** Whether the provider's cache still has the beginning of the prompt. */
  readonly isCached: boolean;
}

/**
 * A rule for when to compact: above a `limit` of tokens, for a reason of its own (`due`), or both. Works with every
 * `CompactionStrategy`; users may write their own. Whatever it says, a prompt that overflows the window is
 * compacted, and after a compaction the next one waits until the prompt has grown by a twentieth.
 * @example
 * const half: CompactionWhen = {
 *   name: "half",
 *   limit: ({ room }) => (room === undefined ? undefined : room.window / 2),
 * };
 * const afterPlanning: CompactionWhen = {
 *   name: "after-planning",
 *   due: ({ turns, tokens }) => turns === 1 && tokens > 20_000,
 * };
 */
export interface CompactionWhen {
  readonly name: string;
  /** The most tokens of a prompt. Undefined: what the window allows. */
  limit?(estimate: ContextEstimate): number | undefined;
  /** Whether there is another reason to compact. Pure: time, too, comes from the facts. */
  due?(facts: CompactionFacts): boolean;
  /** Default `compact`. `warn` only warns, from nine tenths of the limit, and does not ask `due`. */
  readonly atLimit?: "compact" | "warn";
}

const WARN_AT = 0.9;

/** The window without the buffer for the reply; infinite if the window is not known. */
export function usable({ room }: ContextEstimate): number {
  return room === undefined ? Infinity : room.window - room.outputBuffer;
}

/**
 * Compacts if the prompt leaves too few tokens for the reply. Never compacts if the window is not known.
 * @example
 * const context: Agent["context"] = { compact: { when: overflow(), how: summarize() } };
 */
export function overflow(): CompactionWhen {
  return { name: "overflow", limit: usable };
}

/**
 * Compacts if the prompt takes more than a share of the window.
 * @param share above 0, up to 1.
 * @example
 * const context: Agent["context"] = { compact: { when: threshold(0.8), how: summarize() } };
 * @throws TurnlogError `INVALID_INPUT` for any other share.
 */
export function threshold(share: number): CompactionWhen {
  assertShare(share, "A threshold");
  return {
    name: `threshold(${share})`,
    limit: ({ room }) => (room === undefined ? undefined : share * room.window),
  };
}

/**
 * Compacts if the prompt has more tokens than `most`.
 * @example
 * const context: Agent["context"] = { compact: { when: tokens(100_000), how: summarize() } };
 * @throws TurnlogError `INVALID_INPUT` unless `most` is above 0.
 */
export function tokens(most: number): CompactionWhen {
  if (!(most > 0)) throw invalid(`A limit is a number of tokens above 0, not ${most}.`);
  return { name: `tokens(${most})`, limit: () => most };
}

/**
 * Compacts only on request; warns from nine tenths of the usable window.
 * @example
 * const context: Agent["context"] = { compact: { when: manual(), how: summarize() } };
 */
export function manual(): CompactionWhen {
  return { name: "manual", limit: usable, atLimit: "warn" };
}

/**
 * Compacts when a turn begins and so many have ended since the last compaction.
 * @example
 * const context: Agent["context"] = { compact: { when: everyTurns(20), how: summarize() } };
 * @throws TurnlogError `INVALID_INPUT` unless `turns` is a whole number above 0.
 */
export function everyTurns(turns: number): CompactionWhen {
  if (!(Number.isSafeInteger(turns) && turns > 0))
    throw invalid(`A number of turns is whole and above 0, not ${turns}.`);
  return {
    name: `every-turns(${turns})`,
    due: (facts) => facts.steps === 0 && facts.turns >= turns,
  };
}

/**
 * Compacts when a message begins a turn after the session has rested for so long.
 * @param ms Milliseconds since the last step.
 * @example
 * const context: Agent["context"] = { compact: { when: idle(3_600_000), how: summarize() } };
 * @throws TurnlogError `INVALID_INPUT` unless `ms` is above 0.
 */
export function idle(ms: number): CompactionWhen {
  if (!(ms > 0)) throw invalid(`A rest is a number of milliseconds above 0, not ${ms}.`);
  return { name: `idle(${ms})`, due: ({ steps, idleMs = 0 }) => steps === 0 && idleMs >= ms };
}

/**
 * Compacts while that loses nothing of the provider's cache, which has forgotten the prompt: after a pause, with
 * another model, or if the provider caches nothing.
 * @param share of the window that the prompt must take, above 0, up to 1. Default 0.5.
 * @example
 * const context: Agent["context"] = { compact: { when: coldCache(0.3), how: summarize() } };
 * @throws TurnlogError `INVALID_INPUT` for any other share.
 */
export function coldCache(share = 0.5): CompactionWhen {
  assertShare(share, "The least prompt for a cold cache");
  return {
    name: `cold-cache(${share})`,
    due: ({ isCached, tokens, window = Infinity }) => !isCached && tokens > share * window,
  };
}

function assertShare(share: number, what: string): void {
  if (share > 0 && share <= 1) return;
  throw invalid(`${what} is a share of the window above 0 and up to 1, not ${share}.`);
}

function invalid(message: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", message);
}

/** The growth since the last compaction that a new one needs, as a share of the limit or of the prompt. */
const HYSTERESIS = 0.05;

/** Compactions for one step before its prompt is sent. */
const MOST_ATTEMPTS = 2;

export type CompactionDue = "compact" | "warn" | "wait";

/**
 * What to do before the next step. The prompt must grow by a twentieth between two compactions, so that a
 * useless one is not tried in each step, and what a user has brought back is sent once. A prompt that does not fit
 * its model is compacted in each turn anew: the cause may be a message that was never sent.
 */
export function compactionDue(
  when: CompactionWhen,
  estimate: ContextEstimate,
  facts: CompactionFacts,
  { attempts, settled, isUndone }: CompactionsState,
): CompactionDue {
  const { tokens } = estimate;
  const limit = limitOf(when, estimate);
  if (when.atLimit === "warn") return tokens > WARN_AT * limit ? "warn" : "wait";
  if (attempts >= MOST_ATTEMPTS) return "wait";
  const isTooLong = tokens > usable(estimate);
  if (isTooLong && facts.steps === 0 && attempts === 0) return "compact";
  if (isUndone === true) return isTooLong ? "compact" : "wait";
  if (tokens <= limit && when.due?.(facts) !== true) return "wait";
  if (settled === undefined) return "compact";
  // If even the compacted prompt is above the limit, growth is measured by the prompt.
  const growth = HYSTERESIS * Math.max(aimOf(when, estimate), settled);
  return tokens > settled + growth ? "compact" : "wait";
}

/** The most tokens of a prompt: never more than the window allows. */
export function limitOf(when: CompactionWhen, estimate: ContextEstimate): number {
  return Math.min(when.limit?.(estimate) ?? Infinity, usable(estimate));
}

/** The tokens for which a compaction plans. Without regard to size, the prompt as it is counts as too long. */
export function aimOf(when: CompactionWhen, estimate: ContextEstimate): number {
  return Math.min(limitOf(when, estimate), when.due === undefined ? Infinity : estimate.tokens);
}

/**
 * The budget of a plan: the limit without instructions and tools, if there is one.
 * @param most The most tokens of a prompt. Default: the usable window.
 */
export function planBudget(
  limit: number,
  estimate: ContextEstimate,
  meter: Meter,
  most: number = usable(estimate),
): PlanBudget {
  const { instructions, tools } = estimate.breakdown;
  const beside = (whole: number): number => Math.max(0, whole - instructions - tools);
  return {
    meter,
    factor: estimate.recorded.factor ?? 1,
    ...(limit === Infinity ? {} : { messageTokens: beside(limit) }),
    ...(most === Infinity ? {} : { windowTokens: beside(most) }),
  };
}
