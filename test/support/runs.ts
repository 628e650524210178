/**
 * How much tests try: a small sample in `npm test`, a fair one in `npm run test:all`, `TURNLOG_LONG` times as much in a
 * long run, and what is drawn by lot. No test may set a time limit or a size of its own.
 */

import type { Parameters } from "fast-check";

function numberFrom(name: string, least: number, usual: number): number {
  const given = process.env[name];
  const number = given === undefined ? usual : Number(given);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`${name} is ${given}; give an integer from ${least} on.`);
}

/** How many times as much is tried as in `npm run test:all`. */
const factor = numberFrom("TURNLOG_LONG", 1, 1);

/** Whether this is a long run. */
export const long: boolean = factor > 1;

/** Whether this is `npm run test:all`, a long run, or a run of named files (`vitest.config.ts`). */
export const all: boolean = long || process.env["TURNLOG_ALL"] !== undefined;

/** For the title of what `npm test` skips. */
export const inAll: string = all ? "" : " (in `npm run test:all`)";

/** Of what all tests try, `npm test` tries one in so many. */
const SMALLER = all ? 1 : 3;

/** Changes what is drawn by lot; a long run draws a new one (`vitest.config.ts`). */
export const lot: number = numberFrom("TURNLOG_SEED", 0, 0);

/** So many in `npm run test:all`; in a long run `each` of them for each unit of `TURNLOG_LONG`. */
export function times(usual: number, each: number = usual): number {
  return long ? each * factor : Math.ceil(usual / SMALLER);
}

/** Settings for `fc.assert`: so many also in `npm test`, since a property notices most in its first seconds. */
export function runs<Values>(usual: number, each: number = usual): Parameters<Values> {
  return { numRuns: long ? each * factor : usual };
}

/** The step of a sweep that takes one of so many in `npm run test:all`, and all at 1: smaller in a long run, at least 1. */
export function stepOf(share: number): number {
  return Math.max(1, Math.floor((share > 1 ? share * SMALLER : share) / factor));
}

/** One of each `share` from a place on, evenly spread, also in `npm test`; more of them, others each time, in a long run. */
export function spread<Item>(items: readonly Item[], share: number, first = 0): readonly Item[] {
  const step = Math.max(1, Math.floor(share / factor));
  return items.filter((_, index) => index % step === (first + lot) % step);
}

/** {@link spread}, of which `npm test` takes one in three, at least one of a list as long as the share. */
export function sampled<Item>(items: readonly Item[], share: number, first = 0): readonly Item[] {
  const fewer = Math.max(1, Math.min(SMALLER, Math.floor(items.length / share)));
  return spread(items, share * fewer, first);
}

/** The first of each kind; in a long run up to `most`, by lot and evenly spread. */
export function someOfEach<Item>(
  items: readonly Item[],
  kindOf: (item: Item) => unknown,
  most: number = factor,
): readonly Item[] {
  const chosen = [...Map.groupBy(items, kindOf).values()].flatMap((kind) => {
    const count = Math.min(factor, most, kind.length);
    return Array.from({ length: count }, (_, place) => {
      return kind[(lot + Math.floor((place * kind.length) / count)) % kind.length];
    });
  });
  const taken = new Set(chosen);
  return items.filter((item) => taken.has(item));
}

/** Milliseconds that a test may take: a hang ends, and no test fails because the machine is busy. */
export const patience: number = long ? 3_600_000 : 300_000;
