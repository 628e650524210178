/** Decides from the estimate of the next prompt when to compact, and with which budget. Pure. */

import { TurnlogError } from "../../events/index.ts";
import type { ContextEstimate } from "../estimate/context-estimate.ts";
import type { PlanBudget } from "./compaction-strategy.ts";
import type { Meter } from "../estimate/message-size.ts";

/**
 * A rule for when to compact. Works with every `CompactionStrategy`; users may write their own.
 * @example
 * const half: CompactionWhen = {
 *   name: "half",
 *   limit: ({ room }) => (room === undefined ? undefined : room.window / 2),
 *   atLimit: "compact",
 * };
 */
export interface CompactionWhen {
  readonly name: string;
  /** The most tokens of a prompt; undefined if there is no limit. */
  limit(estimate: ContextEstimate): number | undefined;
  /** What to do above the limit. `warn` only warns, from nine tenths of the limit. */
  readonly atLimit: "compact" | "warn";
}

const WARN_AT = 0.9;

/** The window without the buffer for the reply. */
export function usable({ room }: ContextEstimate): number | undefined {
  return room === undefined ? undefined : room.window - room.outputBuffer;
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/**
 * Compacts if the prompt leaves too few tokens for the reply. Never compacts if the window is not known.
 * @example
 * const context: ContextOptions = { compact: { when: overflow(), how: summarize() } };
 */
export function overflow(): CompactionWhen {
  return { name: "overflow", limit: usable, atLimit: "compact" };
}

/**
 * Compacts if the prompt takes more than a share of the window, or overflows it.
 * @param share above 0, up to 1.
 * @example
 * const context: ContextOptions = { compact: { when: threshold(0.8), how: summarize() } };
 * @throws TurnlogError `INVALID_INPUT` for any other share.
 */
export function threshold(share: number): CompactionWhen {
  if (!(share > 0 && share <= 1)) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `A threshold is a share of the window above 0 and up to 1, not ${share}.`,
    );
  }
  return {
    name: `threshold(${share})`,
    limit: (estimate) => {
      const { room } = estimate;
      return room === undefined ? undefined : smaller(share * room.window, usable(estimate));
    },
    atLimit: "compact",
  };
}

/**
 * Compacts if the prompt has more tokens than `most`, or overflows the window.
 * @example
 * const context: ContextOptions = { compact: { when: tokens(100_000), how: summarize() } };
 * @throws TurnlogError `INVALID_INPUT` unless `most` is above 0.
 */
export function tokens(most: number): CompactionWhen {
  if (!(most > 0)) {
    throw new TurnlogError("INVALID_INPUT", `A limit is a number of tokens above 0, not ${most}.`);
  }
  return {
    name: `tokens(${most})`,
    limit: (estimate) => smaller(most, usable(estimate)),
    atLimit: "compact",
  };
}

/**
 * Compacts only on request; warns from nine tenths of the usable window.
 * @example
 * const context: ContextOptions = { compact: { when: manual(), how: summarize() } };
 */
export function manual(): CompactionWhen {
  return { name: "manual", limit: usable, atLimit: "warn" };
}

/** The growth since the last compaction that a new one needs, as a share of the limit or of the prompt. */
const HYSTERESIS = 0.05;

/**
 * What to do before the next step. The prompt must grow by a twentieth between two compactions, so that a
 * useless one is not tried in each step.
 * @param settled Tokens of the prompt after the last compaction, or when the last one was rejected.
 */
export function compactionDue(
  when: CompactionWhen,
  estimate: ContextEstimate,
  settled: number | undefined,
): "compact" | "warn" | "wait" {
  const limit = when.limit(estimate);
  if (limit === undefined) return "wait";
  if (when.atLimit === "warn") return estimate.tokens > WARN_AT * limit ? "warn" : "wait";
  if (estimate.tokens <= limit) return "wait";
  if (settled === undefined) return "compact";
  // If even the compacted prompt is above the limit, growth is measured by the prompt.
  const growth = HYSTERESIS * Math.max(limit, settled);
  return estimate.tokens > settled + growth ? "compact" : "wait";
}

/**
 * The budget of a plan: the limit without instructions and tools.
 * @param most The most tokens of a prompt. Default: the usable window, if it is known.
 */
export function planBudget(
  when: CompactionWhen,
  estimate: ContextEstimate,
  meter: Meter,
  most: number | undefined = usable(estimate),
): PlanBudget {
  const { instructions, tools } = estimate.breakdown;
  const beside = (whole: number): number => Math.max(0, whole - instructions - tools);
  const limit = when.limit(estimate);
  return {
    meter,
    factor: estimate.recorded.factor ?? 1,
    ...(limit === undefined ? {} : { messageTokens: beside(limit) }),
    ...(most === undefined ? {} : { windowTokens: beside(most) }),
  };
}
