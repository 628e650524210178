/** How long tests may run: a fair sample in `npm test`, twenty times as much with `TURNLOG_LONG`. */

import type { Parameters } from "fast-check";

/** Whether there is time for everything. */
export const long: boolean = process.env["TURNLOG_LONG"] !== undefined;

/** Settings for `fc.assert`. */
export function runs<Values>(usual: number): Parameters<Values> {
  return { numRuns: long ? usual * 20 : usual };
}

/** Milliseconds that a property may take. */
export const patience: number = long ? 900_000 : 60_000;
