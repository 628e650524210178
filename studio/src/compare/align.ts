/** Two sessions or branches step by step, side by side. Pure. */

import type { Step } from "../data/steps.ts";
import type { Branch } from "../data/types.ts";

export interface Pair {
  readonly number: number;
  readonly left?: Step;
  readonly right?: Step;
  /** `same`: the same prompt was sent. `prompt`: another one. `only`: one session has no such step. */
  readonly kind: "shared" | "same" | "prompt" | "only";
}

/**
 * By the number of the step; of several attempts, the last one. `shared`: the last shared position of a fork, or of two
 * branches, whose steps are counted on each.
 */
export function pairsOf(
  left: readonly Step[],
  right: readonly Step[],
  shared = 0,
  areBranches = false,
): readonly Pair[] {
  const numbered = areBranches ? counted : lastAttempts;
  const [one, other] = [numbered(left), numbered(right)];
  const numbers = [...new Set([...one.keys(), ...other.keys()])].toSorted((a, b) => a - b);
  return numbers.map((number): Pair => {
    const [a, b] = [one.get(number), other.get(number)];
    if (a === undefined || b === undefined)
      return { number, kind: "only", ...(a && { left: a }), ...(b && { right: b }) };
    const ends = Math.max(a.endPosition ?? Infinity, b.endPosition ?? Infinity);
    if (a.position === b.position && ends <= shared)
      return { number, left: a, right: b, kind: "shared" };
    return { number, left: a, right: b, kind: a.digest === b.digest ? "same" : "prompt" };
  });
}

/** The steps of one branch. */
export function stepsOn(steps: readonly Step[], { spans }: Branch): readonly Step[] {
  return steps.filter(({ position }) =>
    spans.some(({ from, to }) => from <= position && position <= to),
  );
}

/** The last position that two branches share. */
export function sharedBy({ spans: one }: Branch, { spans: other }: Branch): number {
  let last = 0;
  for (const [index, { from, to }] of one.entries()) {
    const beside = other[index];
    if (beside?.from !== from) return last;
    last = Math.min(to, beside.to);
    if (to !== beside.to) return last;
  }
  return last;
}

function counted(steps: readonly Step[]): ReadonlyMap<number, Step> {
  return new Map([...lastAttempts(steps).values()].map((step, index) => [index + 1, step]));
}

function lastAttempts(steps: readonly Step[]): ReadonlyMap<number, Step> {
  return new Map(steps.map((step) => [step.step, step]));
}
