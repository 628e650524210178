/** Options of the strategies, checked when a strategy is made: a plan would only fail when it is due. Pure. */

import { TurnlogError } from "../events/index.ts";

/**
 * Options whose named fields are amounts, each of which may be missing.
 * @throws TurnlogError `INVALID_INPUT`
 */
export function amounts<Options extends object>(
  strategy: string,
  options: Options,
  names: readonly (keyof Options & string)[],
): Options {
  const given: unknown = options;
  if (typeof given !== "object" || given === null)
    throw misused(strategy, "its options must be an object");
  for (const name of names) {
    const amount: unknown = options[name];
    if (amount === undefined) continue;
    if (typeof amount !== "number" || !(amount >= 0))
      throw misused(strategy, `\`${name}\` must be a number from 0 on`);
  }
  return options;
}

/** The error of a strategy that is made with other options than it takes. */
export function misused(strategy: string, why: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", `${strategy}: ${why}.`);
}
