/** A log that can be cut off from those who write to it, as the death of their process does. */

import type { EventLog } from "../../src/events/index.ts";
import { wrapLog } from "../../src/replay/index.ts";

export interface SeverableLog extends EventLog {
  /** From now on nothing that is written gets there, and nobody is told. */
  sever(): void;
}

export function severableLog(log: EventLog): SeverableLog {
  let severed = false;
  const never = <Value>(): Promise<Value> => new Promise<Value>(() => {});
  const wrapped = wrapLog(log, {
    append: (...append) => (severed ? never() : log.append(...append)),
    fork: (...fork) => (severed ? never() : log.fork(...fork)),
    saveSnapshot: (...snapshot) => (severed ? never() : log.saveSnapshot(...snapshot)),
  });
  return {
    ...wrapped,
    sever: () => {
      severed = true;
    },
  };
}
