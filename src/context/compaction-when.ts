/** When it is time to compact: a pure look at the estimate of the next prompt. */

import { TurnlogError } from "../events/index.ts";
import type { ContextEstimate } from "./context-estimate.ts";
import type { PlanBudget } from "./compaction-strategy.ts";
import type { Meter } from "./message-size.ts";

/** One answer to when. Combines with every `CompactionStrategy`; users write their own by this interface. */
export interface CompactionWhen {
  readonly name: string;
  /** Tokens that a prompt may have: one more, and it is time. Undefined where there is no limit. */
  limit(estimate: ContextEstimate): number | undefined;
  /** What to do at the limit. `warn` only says that it is time, and at nine tenths of it already. */
  readonly atLimit: "compact" | "warn";
}

/** Of the limit, from which on a user is warned. */
const WARN_AT = 0.9;

/** What the window has beside the reply. */
export function usable({ room }: ContextEstimate): number | undefined {
  return room === undefined ? undefined : room.window - room.outputBuffer;
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** Compacts when the prompt leaves less room than the reply needs. Never, where no window is known. */
export function overflow(): CompactionWhen {
  return { name: "overflow", limit: usable, atLimit: "compact" };
}

/**
 * Compacts when the prompt fills more than that share of the window, and in any case when it overflows.
 * @param share above 0, up to 1.
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
 * Compacts when the prompt has more than so many tokens, and in any case when it overflows.
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

/** Compacts only when it is asked for; warns when nine tenths of the room are used. */
export function manual(): CompactionWhen {
  return { name: "manual", limit: usable, atLimit: "warn" };
}

/** What a prompt must have grown by since the last compaction, of the limit or of itself. */
const HYSTERESIS = 0.05;

/**
 * What is to be done before the next step. After a compaction the next one waits until the prompt
 * has grown by a twentieth since: one that saved nothing is not tried in each step.
 * @param settled tokens of the prompt after the last compaction, or at the last that was rejected.
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
  // Where even a compacted prompt is beyond the limit, it is the prompt that has to grow.
  const growth = HYSTERESIS * Math.max(limit, settled);
  return estimate.tokens > settled + growth ? "compact" : "wait";
}

/**
 * The ground for a plan: messages may have what the limit leaves beside instructions and tools, so
 * that a strategy which keeps half of that leaves room to grow until the limit is reached again.
 * @param most tokens that a prompt may have at all. Default: what its model takes, as far as that is known.
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
