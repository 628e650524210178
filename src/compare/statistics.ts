/** Means and shares with 95 % intervals. Pure. */

/** `low` and `high` are absent where the figures allow no interval. */
export interface Estimate {
  readonly value: number;
  readonly low?: number;
  readonly high?: number;
  readonly n: number;
}

/** The 97.5 % quantile of the normal distribution. */
const Z = 1.959_963_984_540_054;

/** Those of Student's t for few degrees of freedom, from 1 (NIST/SEMATECH e-Handbook, 1.3.6.7.2). */
const FEW = [12.706_2, 4.302_7, 3.182_4, 2.776_4];

/** The 97.5 % quantile of Student's t. From 5 degrees on, Abramowitz and Stegun 26.7.5 is right to 0.001. */
export function studentQuantile(degrees: number): number {
  const few = FEW[degrees - 1];
  if (few !== undefined) return few;
  const terms = [
    (Z ** 3 + Z) / 4,
    (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / 96,
    (3 * Z ** 7 + 19 * Z ** 5 + 17 * Z ** 3 - 15 * Z) / 384,
    (79 * Z ** 9 + 776 * Z ** 7 + 1482 * Z ** 5 - 1920 * Z ** 3 - 945 * Z) / 92_160,
  ];
  return terms.reduce((sum, term, index) => sum + term / degrees ** (index + 1), Z);
}

/** The mean of figures, of pairs their differences, with Student's interval: mean ± t · s / √n. */
export function meanOf(figures: readonly number[]): Estimate {
  const n = figures.length;
  const value = figures.reduce((one, other) => one + other, 0) / Math.max(1, n);
  if (n < 2) return { value, n };
  const squares = figures.reduce((sum, figure) => sum + (figure - value) ** 2, 0);
  const half = studentQuantile(n - 1) * Math.sqrt(squares / (n - 1) / n);
  return { value, low: value - half, high: value + half, n };
}

/** A share with the interval of Wilson (1927), which holds for small sets and for shares of 0 and 1. */
export function shareOf(count: number, n: number): Estimate {
  if (n === 0) return { value: 0, n };
  const value = count / n;
  const scale = 1 + Z ** 2 / n;
  const center = (value + Z ** 2 / (2 * n)) / scale;
  const half = (Z / scale) * Math.sqrt((value * (1 - value)) / n + Z ** 2 / (4 * n ** 2));
  return { value, low: Math.max(0, center - half), high: Math.min(1, center + half), n };
}
