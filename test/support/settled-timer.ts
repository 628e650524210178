/** A timer for sessions in memory whose waits end in their order once nothing else happens, however slow the machine is. */

import { setImmediate } from "node:timers/promises";
import type { Timer } from "../../src/shared/index.ts";

/** After so many turns of the event loop, all that follows from what has happened has happened. */
const TURNS_TO_SETTLE = 50;

export function settledTimer(): Timer {
  let now = 0;
  let waits: readonly { readonly until: number; readonly due: () => void }[] = [];
  return (milliseconds, due) => {
    const wait = { until: now + milliseconds, due };
    const end = (): void => {
      waits = waits.filter((one) => one !== wait);
    };
    const pass = async (): Promise<void> => {
      while (waits.includes(wait)) {
        const before = waits;
        for (let turn = 0; turn < TURNS_TO_SETTLE; turn++) await setImmediate();
        const isQuiet = waits === before;
        const isNext = waits.every(({ until }) => until >= wait.until);
        if (!isQuiet || !isNext || !waits.includes(wait)) continue;
        end();
        now = wait.until;
        due();
      }
    };
    if (milliseconds !== Number.POSITIVE_INFINITY) {
      waits = [...waits, wait];
      void pass();
    }
    return { [Symbol.dispose]: end };
  };
}
