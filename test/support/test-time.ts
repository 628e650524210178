/** A clock and a timer that a test moves: no wait ends by itself. For sessions in memory. */

import { setImmediate } from "node:timers/promises";
import type { Timer, Wait } from "../../src/shared/index.ts";

/** After so many turns of the event loop, all that follows from what has happened has happened. */
const TURNS_TO_SETTLE = 50;

export interface TestTime {
  readonly clock: () => number;
  readonly timer: Timer;
  /** The waits that have not ended, by their reasons. */
  readonly waits: readonly Wait["kind"][];
  /** Ends the waits of that time in their order; what follows from each happens before the next. */
  pass(milliseconds: number): Promise<void>;
}

export function testTime(begin = Date.parse("2026-03-01T09:00:00Z")): TestTime {
  let now = begin;
  const waits = new Set<{
    readonly until: number;
    readonly due: () => void;
    readonly wait: Wait;
  }>();
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < TURNS_TO_SETTLE; turn++) await setImmediate();
  };
  return {
    clock: () => now,
    timer: (milliseconds, due, wait) => {
      const one = { until: now + milliseconds, due, wait };
      waits.add(one);
      return { [Symbol.dispose]: () => void waits.delete(one) };
    },
    get waits() {
      return [...waits].map(({ wait }) => wait.kind);
    },
    async pass(milliseconds) {
      const end = now + milliseconds;
      for (;;) {
        await settle();
        const [next] = [...waits].toSorted((one, other) => one.until - other.until);
        if (next === undefined || next.until > end) break;
        waits.delete(next);
        now = Math.max(now, next.until);
        next.due();
      }
      now = end;
    },
  };
}
