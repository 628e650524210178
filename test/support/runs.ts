/** How long tests may run: a fair sample in `npm test`, twenty times as much with `TURNLOG_LONG`. */

import type { Parameters } from "fast-check";

/** Whether there is time for everything. */
export const long: boolean = process.env["TURNLOG_LONG"] !== undefined;

/** Settings for `fc.assert`. */
export function runs<Values>(usual: number): Parameters<Values> {
  return { numRuns: long ? usual * 20 : usual };
}

/** One of each `share`, evenly spread; all of them with `TURNLOG_LONG`. */
export function sampled<Item>(items: readonly Item[], share: number): readonly Item[] {
  return items.filter((_, index) => long || index % share === 0);
}

/** The first of each kind; all of them with `TURNLOG_LONG`. */
export function oneOfEach<Item>(
  items: readonly Item[],
  kindOf: (item: Item) => unknown,
): readonly Item[] {
  const first = new Map(items.toReversed().map((item) => [kindOf(item), item]));
  return long ? items : [...first.values()].toReversed();
}

/** Milliseconds that a test may take: a hang ends, and no test fails because the machine is busy. */
export const patience: number = long ? 3_600_000 : 300_000;
