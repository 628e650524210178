/** What the regression guard makes of its ratios. */

import { expect, it } from "vitest";
import type { Ratios } from "../../bench/guard/ratios.ts";
import { limits, slips, verdicts } from "../../bench/guard/verdict.ts";

const good: Ratios = {
  "CPU of a step ÷ the bare loop's": 0.5,
  "CPU of a step on streamText ÷ the bare loop's": 1.2,
  "CPU of the last steps ÷ of the first": 1,
  "CPU of a call among 2,000 ÷ among 500": 1,
  "bytes on disk ÷ content": 1,
  "bytes written ÷ content": 3,
  "appends of the log ÷ rows of level, a second": 0.5,
};

it("finds nothing in ratios as they are", () => {
  expect(verdicts(good).filter(({ holds }) => !holds)).toEqual([]);
  expect(verdicts(good).map(({ name }) => name)).toEqual(Object.keys(limits));
});

it("reports each ratio that is beyond its limit twice, on either side", () => {
  for (const [name, { bound, value }] of Object.entries(limits)) {
    const bad = { ...good, [name]: bound === "at most" ? value * 1.01 : value * 0.99 };
    expect(slips(bad, bad).map((verdict) => verdict.name)).toEqual([name]);
  }
});

it("takes what one of two measurements finds for noise", () => {
  const once = { ...good, "bytes written ÷ content": 9 };
  const other = { ...good, "bytes on disk ÷ content": 9 };
  expect(slips(once, good)).toEqual([]);
  expect(slips(once, other)).toEqual([]);
});

it("says nothing of a ratio that this system cannot tell", () => {
  const { "bytes written ÷ content": _, ...known } = good;
  expect(verdicts(known)).toHaveLength(Object.keys(limits).length - 1);
});
