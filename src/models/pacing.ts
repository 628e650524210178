/** The pace of a replay: the recorded times of the events, a multiple of it, or no waiting. */

import { setTimeout as delay } from "node:timers/promises";
import { TurnlogError, type SessionEvent } from "../events/index.ts";
import { check, code, implementation, milliseconds, optionsOf } from "../validation/index.ts";

/** Decides when a recorded event may happen again. */
export interface ReplayPace {
  /** Resolves when everything before this position has happened. Rejects to end the replay. */
  due(position: number): Promise<void>;
  /** The position that the replay has reached. If it is absent, calls are answered in the recorded order. */
  readonly position?: number;
}

export const atOnce: ReplayPace = { due: () => Promise.resolve() };

/** Without waiting, in recorded time, or faster by a factor. */
export type Pace = "at-once" | "recorded" | number;

export interface PaceTime {
  /** Milliseconds since any fixed time. */
  now(): number;
  wait(milliseconds: number): Promise<void>;
}

export interface PaceOptions {
  /** The clock. Default: real time. */
  readonly time?: PaceTime;
  /** Most milliseconds of a gap between two events. Default: no limit. */
  readonly longestMs?: number;
}

const schema = optionsOf<PaceOptions>(
  { time: implementation({ now: code, wait: code }), longestMs: milliseconds },
  {},
);

const realTime: PaceTime = {
  now: () => performance.now(),
  wait: async (milliseconds) => {
    await delay(milliseconds);
  },
};

/**
 * The pace of a recording. Its time begins with the first awaited position.
 * @param events - All events in order, without a gap.
 * @example
 * const pace = recordedPace(events, 10); // ten times as fast
 * const model = replayModel(events, pace);
 * @throws TurnlogError `INVALID_INPUT` for a factor that is not above 0
 */
export function recordedPace(
  events: readonly SessionEvent[],
  pace: Pace = "recorded",
  options: PaceOptions = {},
): ReplayPace {
  check(schema, options, "recordedPace", { name: "options" });
  const { time = realTime, longestMs = Number.POSITIVE_INFINITY } = options;
  if (pace === "at-once") return atOnce;
  const factor = pace === "recorded" ? 1 : pace;
  if (!(factor > 0 && Number.isFinite(factor))) {
    throw new TurnlogError("INVALID_INPUT", `A pace is a factor above 0, and not ${factor}.`);
  }
  const dues = dueTimes(events, factor, longestMs);
  const first = events[0]?.position ?? 1;
  let start: number | undefined;
  return {
    async due(position) {
      const due = dues[position - first];
      if (due === undefined) return;
      start ??= time.now() - due;
      const left = start + due - time.now();
      if (left > 0) await time.wait(left);
    },
  };
}

/** Milliseconds from the first event to each. A clock that was set back counts as no gap. */
function dueTimes(
  events: readonly SessionEvent[],
  factor: number,
  longestMs: number,
): readonly number[] {
  let due = 0;
  return events.map(({ time: at }, index) => {
    const gap = Math.max(0, at - (events[index - 1]?.time ?? at)) / factor;
    due += Math.min(gap, longestMs);
    return due;
  });
}
