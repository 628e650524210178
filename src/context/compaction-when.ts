/** When it is time to compact: a pure look at the estimate of the next prompt. */

import { TurnlogError } from "../events/index.ts";
import type { ContextEstimate } from "./context-estimate.ts";

/** One answer to when. Combines with every `CompactionStrategy`; users write their own by this interface. */
export interface CompactionWhen {
  readonly name: string;
  /** Whether to compact before the next step, or only to say that it will soon be time. */
  look(estimate: ContextEstimate): "compact" | "warn" | "wait";
}

/** Of the room for a prompt, from which on a user is warned. */
const WARN_AT = 0.9;

/** The provider would not take it, or not leave the model room for a reply. */
function overflows({ room }: ContextEstimate): boolean {
  return room !== undefined && room.free < 0;
}

/** Compacts when the prompt leaves less room than the reply needs. Never, where no window is known. */
export function overflow(): CompactionWhen {
  return {
    name: "overflow",
    look: (estimate) => (overflows(estimate) ? "compact" : "wait"),
  };
}

/**
 * Compacts when the prompt fills that share of the window, and in any case when it overflows.
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
    look: (estimate) => {
      const { room, tokens: size } = estimate;
      const isDue = room !== undefined && size >= share * room.window;
      return isDue || overflows(estimate) ? "compact" : "wait";
    },
  };
}

/**
 * Compacts when the prompt has so many tokens, and in any case when it overflows.
 * @throws TurnlogError `INVALID_INPUT` unless `limit` is a positive number.
 */
export function tokens(limit: number): CompactionWhen {
  if (!(limit > 0)) {
    throw new TurnlogError("INVALID_INPUT", `A limit is a number of tokens above 0, not ${limit}.`);
  }
  return {
    name: `tokens(${limit})`,
    look: (estimate) => (estimate.tokens >= limit || overflows(estimate) ? "compact" : "wait"),
  };
}

/** Compacts only when it is asked for; warns when nine tenths of the room are used. */
export function manual(): CompactionWhen {
  return {
    name: "manual",
    look: ({ room }) => (room !== undefined && room.used >= WARN_AT ? "warn" : "wait"),
  };
}

/** Of the window, what a prompt must have grown by since the last compaction. */
const HYSTERESIS = 0.05;

/**
 * What `when` says, unless a compaction has just been tried: the next waits until the prompt has
 * grown by a twentieth of the window (or of itself, where none is known) since the last attempt.
 * @param settled tokens of the prompt after the last compaction, or at the last that was rejected.
 */
export function compactionDue(
  when: CompactionWhen,
  estimate: ContextEstimate,
  settled: number | undefined,
): ReturnType<CompactionWhen["look"]> {
  const said = when.look(estimate);
  if (said !== "compact" || settled === undefined) return said;
  const growth = HYSTERESIS * (estimate.room?.window ?? settled);
  return estimate.tokens >= settled + growth ? "compact" : "wait";
}
