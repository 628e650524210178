/** Medians with their spread: a mean would follow whatever else the machine does. */

import { numbers } from "./numbers.ts";

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** A median, and between which values it lies with a confidence of 95 %. */
export interface Interval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (low === undefined || high === undefined) throw new Error("There is no median of nothing.");
  return (low + high) / 2;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

const RESAMPLES = 2000;

/** By the percentile bootstrap (Efron 1979): medians of samples that are drawn from the values, with replacement. The same values give the same interval. */
export function interval(values: readonly number[]): Interval {
  const next = numbers(values.length);
  const drawn = Array.from({ length: RESAMPLES }, () =>
    median(values.map(() => values[next(values.length)] ?? Number.NaN)),
  ).toSorted((one, other) => one - other);
  const at = (share: number): number => drawn[Math.floor(share * RESAMPLES)] ?? Number.NaN;
  return { median: median(values), low: at(0.025), high: at(0.975) };
}

/** Half the width of an interval, as a share of its median. */
export function precision({ median: middle, low, high }: Interval): number {
  return (high - low) / 2 / middle;
}

export function ranged({ median: middle, low, high }: Interval, digits: number): string {
  return `${middle.toFixed(digits)} [${low.toFixed(digits)}–${high.toFixed(digits)}]`;
}
