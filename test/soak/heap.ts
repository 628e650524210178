/** The heap of this process. */

import { setTimeout as wait } from "node:timers/promises";

/** Megabytes after a collection. The process was started with `--expose-gc`. */
export async function heapAfter(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await wait(20);
  }
  return Math.round(process.memoryUsage().heapUsed / 1e5) / 10;
}
