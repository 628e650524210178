/** Two sessions step by step, side by side. Pure. */

import type { Step } from "../data/steps.ts";

export interface Pair {
  readonly left?: Step;
  readonly right?: Step;
  /** `same`: the same prompt was sent. `prompt`: another one. `only`: one session has no such step. */
  readonly kind: "shared" | "same" | "prompt" | "only";
}

/** By the number of the step; of several attempts, the last one. `shared`: of a fork, the last shared position. */
export function pairsOf(
  left: readonly Step[],
  right: readonly Step[],
  shared = 0,
): readonly Pair[] {
  const [one, other] = [lastAttempts(left), lastAttempts(right)];
  const numbers = [...new Set([...one.keys(), ...other.keys()])].toSorted((a, b) => a - b);
  return numbers.map((number): Pair => {
    const [a, b] = [one.get(number), other.get(number)];
    if (a === undefined || b === undefined)
      return { kind: "only", ...(a && { left: a }), ...(b && { right: b }) };
    const ends = Math.max(a.endPosition ?? Infinity, b.endPosition ?? Infinity);
    if (a.position === b.position && ends <= shared) return { left: a, right: b, kind: "shared" };
    return { left: a, right: b, kind: a.digest === b.digest ? "same" : "prompt" };
  });
}

function lastAttempts(steps: readonly Step[]): ReadonlyMap<number, Step> {
  return new Map(steps.map((step) => [step.step, step]));
}
