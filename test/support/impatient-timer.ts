/** A timer that does not wait between attempts. Everything else takes its time. */

import type { Timer } from "../../src/shared/index.ts";
import { systemTimer } from "../../src/shared/index.ts";

export const impatientTimer: Timer = (milliseconds, due, wait) => {
  if (wait.kind !== "retry") return systemTimer(milliseconds, due, wait);
  queueMicrotask(due);
  return { [Symbol.dispose]: () => {} };
};
