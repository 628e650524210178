/** Time that passes when nothing else happens: up to the moment for which somebody waits. */

import { setImmediate } from "node:timers/promises";
import type { PaceTime } from "../../src/models/index.ts";

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** After so many turns of the event loop, all that follows from what has happened has happened. */
const TURNS_TO_SETTLE = 25;

export function virtualTime(): PaceTime {
  let now = 0;
  let sleepers: Sleeper[] = [];
  const pass = async (): Promise<void> => {
    for (let turn = 0; turn < TURNS_TO_SETTLE; turn++) await setImmediate();
    const [next] = sleepers.toSorted((one, other) => one.until - other.until);
    if (next === undefined) return;
    now = Math.max(now, next.until);
    sleepers = sleepers.filter((one) => one !== next);
    next.wake();
  };
  return {
    now: () => now,
    wait: (milliseconds) =>
      new Promise((wake) => {
        sleepers.push({ until: now + milliseconds, wake });
        void pass();
      }),
  };
}
