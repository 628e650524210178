/** The intervals of a comparison, against published values. */

import { expect, it } from "vitest";
import { meanOf, shareOf, studentQuantile } from "../../src/compare/report.ts";

it.each([
  // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
  [1, 12.706],
  [2, 4.303],
  [4, 2.776],
  [5, 2.571],
  [6, 2.447],
  [10, 2.228],
  [30, 2.042],
  [100, 1.984],
  [100_000, 1.96],
])("Student's t with %d degrees of freedom is %d", (degrees, quantile) => {
  expect(studentQuantile(degrees)).toBeCloseTo(quantile, 2);
});

it("the mean of paired differences has Student's interval", () => {
  // The differences of Student's own data on sleep (1908): R's t.test(extra ~ group, paired = TRUE).
  const { value, low, high, n } = meanOf([1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4]);
  expect([value, low, high].map((figure) => figure?.toFixed(3))).toEqual([
    "1.580",
    "0.700",
    "2.460",
  ]);
  expect(n).toBe(10);
});

it("one figure has no interval, and none is no mean", () => {
  expect(meanOf([3])).toEqual({ value: 3, n: 1 });
  expect(meanOf([])).toEqual({ value: 0, n: 0 });
  expect(shareOf(0, 0)).toEqual({ value: 0, n: 0 });
});

it("a share has Wilson's interval, which stays between 0 and 1", () => {
  // Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
  const cases = [
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ] as const;
  for (const [count, n, low, high] of cases) {
    const share = shareOf(count, n);
    expect(share.low).toBeCloseTo(low, 4);
    expect(share.high).toBeCloseTo(high, 4);
  }
});
