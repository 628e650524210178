/** What a session spends, by day, and the limits that a call may not pass. */

import { describe, expect, it } from "vitest";
import {
  callsSince,
  leastCost,
  passedLimit,
  periodOf,
} from "../../src/context/spending/who-pays.ts";
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

describe("what was spent", () => {
  it("is all of steps, retries and summaries, each at its time and price", () => {
    expect(callsSince(undefined, usage, known)).toEqual([
      { time: first, tokens: 2e6, dollars: 3 },
      { time: first + DAY, tokens: 4e6, dollars: 5 },
      { time: first + 1000, tokens: 3e6, dollars: 4 },
      { time: first + DAY, tokens: 5e6, dollars: 0 },
    ]);
    expect(callsSince(undefined, none, known)).toEqual([]);
  });

  it("is the session's own: what a fork shares belongs to its source", () => {
    const fork = { ...usage, inherited: { step: 1, beside: 1, total: noUsage } };
    const tokens = callsSince(undefined, fork, known).map((call) => call.tokens);
    expect(tokens).toEqual([4e6, 5e6]);
  });

  it("since an earlier usage is that of the later calls", () => {
    const before = { ...usage, steps: usage.steps.slice(0, 1), beside: usage.beside.slice(0, 1) };
    const tokens = callsSince(before, usage, known).map((call) => call.tokens);
    expect(tokens).toEqual([4e6, 5e6]);
    expect(callsSince(usage, usage, known)).toEqual([]);
  });

  it("is within a day or a month of UTC, or ever", () => {
    expect(periodOf("day", first)).toBe("2026-01-31");
    expect(periodOf("day", first + 11 * 3_600_000)).toBe("2026-01-31");
    expect(periodOf("month", first + DAY)).toBe("2026-02");
    expect(periodOf(undefined, first)).toBe("");
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
