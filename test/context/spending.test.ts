/** What a session spends, by day, and the limits that a call may not pass. */

import { describe, expect, it } from "vitest";
import {
  leastCost,
  nothingSpent,
  passedLimit,
  spentBy,
  spentSchema,
  spentSince,
  spentWithin,
} from "../../src/context/spending/spending.ts";
import { noUsage, type UsageState } from "../../src/projections/index.ts";

const model = { provider: "p", modelId: "m" };
/** A dollar for a million tokens of the prompt, two for the reply. */
const known = { overrides: { "p:m": { prices: { input: 1, output: 2 } } } };
const DAY = 86_400_000;
const first = Date.UTC(2026, 0, 31, 12);

function entry(time: number, inputTokens: number, more: object = {}) {
  return { turn: 1, time, model, usage: { ...noUsage, inputTokens, outputTokens: 1e6 }, ...more };
}

const none: UsageState = { steps: [], beside: [], total: noUsage, turn: 0 };
const usage: UsageState = {
  ...none,
  steps: [
    { step: 1, ...entry(first, 1e6) },
    { step: 2, ...entry(first + DAY, 3e6) },
  ],
  beside: [
    { kind: "retry", ...entry(first + 1000, 2e6) },
    { kind: "compaction", turn: 0, time: first + DAY, usage: { ...noUsage, inputTokens: 5e6 } },
  ],
};
const spent = spentBy(usage, known);

describe("what was spent", () => {
  it("is all of steps, retries and summaries, by the day of each call, in order", () => {
    expect(spent).toEqual({
      total: { tokens: 14e6, dollars: 12 },
      days: [
        { day: "2026-01-31", tokens: 5e6, dollars: 7 },
        { day: "2026-02-01", tokens: 9e6, dollars: 5 },
      ],
    });
    expect(spentSchema.parse(structuredClone(spent))).toEqual(spent);
    expect(spentBy(none, known)).toEqual(nothingSpent);
    expect(nothingSpent).toEqual({ total: { tokens: 0, dollars: 0 }, days: [] });
  });

  it("is the session's own: what a fork shares belongs to its source", () => {
    const fork = { ...usage, inherited: { step: 1, beside: 1, total: noUsage } };
    expect(spentBy(fork, known).total).toEqual({ tokens: 9e6, dollars: 5 });
  });

  it("is the same when it goes on from what was spent before, and each call is priced once", () => {
    const before = { ...usage, steps: usage.steps.slice(0, 1), beside: usage.beside.slice(0, 1) };
    const earlier = { usage: before, spent: spentBy(before, known) };
    expect(spentSince(earlier, usage, known)).toEqual(spent);
    expect(spentSince({ usage, spent }, usage, known)).toEqual(spent);
  });

  it("is within a day or a month of UTC, or ever", () => {
    expect(spentWithin(spent, undefined, 0)).toEqual(spent.total);
    expect(spentWithin(spent, "day", first)).toEqual({ tokens: 5e6, dollars: 7 });
    expect(spentWithin(spent, "day", first + 11 * 3_600_000)).toEqual({ tokens: 5e6, dollars: 7 });
    expect(spentWithin(spent, "day", first + 2 * DAY)).toEqual({ tokens: 0, dollars: 0 });
    expect(spentWithin(spent, "month", first + 20 * DAY)).toEqual({ tokens: 9e6, dollars: 5 });
    expect(spentWithin(spent, "month", first)).toEqual({ tokens: 5e6, dollars: 7 });
  });

  it("has its last 62 days, so that a month is whole, and the total of all", () => {
    const steps = Array.from({ length: 70 }, (_, day) => ({
      step: day + 1,
      ...entry(first + day * DAY, 0),
    }));
    const long = spentBy({ ...none, steps }, known);
    expect(long.days).toHaveLength(62);
    expect(long.days.at(-1)?.day).toBe("2026-04-10");
    expect(long.total.tokens).toBe(70e6);
  });
});

describe("a limit", () => {
  const next = { tokens: 10, dollars: 1 };
  const at = (tokens: number, dollars: number) => ({ tokens, dollars });

  it("is passed by a call that would lead beyond it, or once it is reached", () => {
    const budget = { tokens: 100 };
    expect(passedLimit("session", budget, at(90, 0), next)).toBeUndefined();
    expect(passedLimit("session", budget, at(91, 0), next)).toEqual({
      of: "session",
      unit: "tokens",
      limit: 100,
      spent: 91,
    });
    const free = { tokens: 0, dollars: 0 };
    expect(passedLimit("session", budget, at(99, 0), free)).toBeUndefined();
    expect(passedLimit("session", budget, at(100, 0), free)).toMatchObject({ spent: 100 });
  });

  it("of dollars cannot be kept by a model without a price", () => {
    const budget = { dollars: 5 };
    expect(passedLimit("user", budget, at(0, 4), next)).toBeUndefined();
    expect(passedLimit("user", budget, at(0, 4.5), next)).toEqual({
      of: "user",
      unit: "dollars",
      limit: 5,
      spent: 4.5,
    });
    expect(passedLimit("user", budget, at(0, 0), { tokens: 1, dollars: undefined })).toEqual({
      of: "user",
      unit: "dollars",
      limit: 5,
      spent: 0,
      unpriced: true,
    });
    expect(passedLimit("user", {}, at(9, 9), { tokens: 1, dollars: undefined })).toBeUndefined();
    const both = { tokens: 5, dollars: 5 };
    expect(passedLimit("user", both, at(9, 9), next)).toMatchObject({ unit: "tokens" });
  });

  it("is compared with the least that a call costs: its prompt without a cache", () => {
    const call = { model, promptTokens: 2e6, time: first };
    expect(leastCost(call, known)).toEqual({ tokens: 2e6, dollars: 2 });
    expect(leastCost({ ...call, promptTokens: undefined }, known)).toEqual({
      tokens: 0,
      dollars: 0,
    });
    expect(leastCost(call, {})).toEqual({ tokens: 2e6, dollars: undefined });
  });
});
