/** When a process is killed: drawn by lot, but from how far it has come, never by waiting for luck. */

import type { Random } from "../support/random.ts";
import type { Death, Place } from "./crash-plan.ts";

export type Moment =
  /** The parent kills it once this many bytes were seen, and then so many milliseconds later. */
  | { readonly by: "parent"; readonly bytes: number; readonly afterMs: number }
  /** It kills itself at a place in the code, the n-th time that it comes there. */
  | { readonly by: "itself"; readonly die: Death };

/** How often a process comes to each place in a run of usual length. */
const usual = { append: 700, work: 20, call: 20, parse: 4, shown: 700 } as const satisfies Partial<
  Record<Place, number>
>;

const places = ["append", "append", "work", "work", "call", "parse", "shown"] as const;

/** Two of three are killed from outside; the others at the places where a moment matters most. */
export function drawMoment(random: Random): Moment {
  if (random.chance(2 / 3)) {
    const afterMs = random.chance(0.5) ? 0 : random.below(12);
    return { by: "parent", bytes: 1 + random.below(150_000), afterMs };
  }
  const at = random.pick(places);
  // The first events of a process are those of its recovery.
  const upTo = random.chance(0.3) ? Math.min(6, usual[at]) : usual[at];
  return { by: "itself", die: { at, after: 1 + random.below(upTo) } };
}

export function describeMoment(moment: Moment): string {
  return moment.by === "itself"
    ? `at ${moment.die.at} ${moment.die.after}`
    : `${moment.afterMs} ms after ${moment.bytes} bytes`;
}
