/** How often a property is tried: some hundred times in `npm test`, thousands with `TURNLOG_LONG`. */

import type { Parameters } from "fast-check";

const long = process.env["TURNLOG_LONG"] !== undefined;
const seed = process.env["TURNLOG_SEED"];

/** Settings for `fc.assert`; fast-check itself prints the seed of what failed. */
export function runs<Values>(usual: number): Parameters<Values> {
  return {
    numRuns: long ? usual * 20 : usual,
    ...(seed === undefined ? {} : { seed: Number(seed) }),
  };
}

/** Milliseconds that a property may take. */
export const patience: number = long ? 900_000 : 60_000;
