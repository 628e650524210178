/** How fast a recording is told or replayed: by the times of its events, or without waiting. */

import { setTimeout as delay } from "node:timers/promises";
import { TurnlogError, type SessionEvent } from "../events/index.ts";
import { check, code, implementation, milliseconds, optionsOf } from "../validation/index.ts";

/** When what was recorded may happen again. */
export interface ReplayPace {
  /** Resolves when everything before this position has happened. Rejects to end the replay. */
  due(position: number): Promise<void>;
  /** How far it has come; absent where nobody knows: then what is asked for is answered in the order of the recording. */
  readonly position?: number;
}

/** At once. */
export const atOnce: ReplayPace = { due: () => Promise.resolve() };

/** Without waiting, in the time that it took, or so many times faster. */
export type Pace = "at-once" | "recorded" | number;

/** The time that passes for who listens. */
export interface PaceTime {
  /** Milliseconds, from any beginning. */
  now(): number;
  wait(milliseconds: number): Promise<void>;
}

/** How recorded time is waited for. */
export interface PaceOptions {
  /** Default: the real one. */
  readonly time?: PaceTime;
  /** Milliseconds that no gap between two events takes longer, however long it was. Default: none is cut. */
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
 * The pace of a recording. Its time begins with the first position that is asked for.
 * @param events - In order, without a gap.
 * @throws TurnlogError `INVALID_INPUT` for a factor that is not above 0.
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
  let begun: number | undefined;
  return {
    async due(position) {
      const due = dues[position - first];
      if (due === undefined) return;
      begun ??= time.now() - due;
      const left = begun + due - time.now();
      if (left > 0) await time.wait(left);
    },
  };
}

/** Milliseconds from the first event to each. A clock that was set back does not make time go back. */
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
