/** What is known of models: the catalogue, what providers said, and the user's last word. */

import { describe, expect, it } from "vitest";
import type { ModelName, TokenUsage } from "../../src/events/index.ts";
import {
  callCost,
  modelLimits,
  type KnownLimits,
  modelCatalogue,
} from "../../src/context/models/model-limits.ts";
import { sessionCost } from "../../src/context/spending/cost.ts";
import type { UsageState } from "../../src/projections/index.ts";

const catalogue = await modelCatalogue();
const day = Date.UTC(2026, 8, 1);
const sonnet: ModelName = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5-20250929" };
const gpt5: ModelName = { provider: "openai.responses", modelId: "gpt-5" };
const unknown: ModelName = { provider: "turnlog", modelId: "scripted" };

const used: TokenUsage = {
  basis: "measured",
  inputTokens: 10_000,
  uncachedInputTokens: 1000,
  cacheReadTokens: 7000,
  cacheWriteTokens: 2000,
  outputTokens: 500,
};

describe("the catalogue", () => {
  it("knows models by the names that the AI SDK gives to them and their providers", () => {
    expect(catalogue.limits(sonnet, day)).toMatchObject({ contextWindow: 200_000 });
    expect(catalogue.limits(gpt5, day)).toMatchObject({
      contextWindow: 400_000,
      prices: { input: expect.closeTo(1.25) as number, output: expect.closeTo(10) as number },
    });
    expect(
      catalogue.limits({ provider: "google.generative-ai", modelId: "gemini-2.5-pro" }, day),
    ).toBeDefined();
    expect(
      catalogue.limits({ provider: "openrouter", modelId: "openai/gpt-5" }, day),
    ).toBeDefined();
    expect(catalogue.limits(unknown, day)).toBeUndefined();
  });

  it("has the prices of a million tokens, and the cost of a call without cache figures", () => {
    const prices = catalogue.limits(sonnet, day)?.prices;
    expect(prices?.input).toBeCloseTo(3, 9);
    expect(prices?.output).toBeCloseTo(15, 9);
    expect(prices?.cacheRead).toBeCloseTo(0.3, 9);
    expect(prices?.cacheWrite).toBeCloseTo(3.75, 9);
    const plain = { basis: "measured", inputTokens: 2000, outputTokens: 100 } as const;
    expect(catalogue.cost(sonnet, plain, day)).toBeCloseTo((2000 * 3 + 100 * 15) / 1_000_000, 12);
    const gateway = { provider: "somebody", modelId: "proxy/anthropic/claude-sonnet-4-5" };
    expect(catalogue.cost(gateway, plain, day)).toBeGreaterThan(0);
  });

  it("is asked once a minute for each model, since prices change at most so often", () => {
    const begun = day + 60_000 * 7;
    const first = catalogue.limits(sonnet, begun);
    expect(catalogue.limits(sonnet, begun + 59_999)).toBe(first);
    expect(catalogue.limits(gpt5, begun)).not.toBe(first);
    expect(catalogue.limits(sonnet, begun)).toBe(first);
    const next = catalogue.limits(sonnet, begun + 60_000);
    expect(next).not.toBe(first);
    expect(next).toEqual(first);
    expect(catalogue.limits(unknown, begun)).toBeUndefined();
    expect(catalogue.limits(unknown, begun)).toBeUndefined();
  });

  it("prices what was read from the cache and written to it apart, each token once", () => {
    // Sonnet 4.5: 3 dollars, a tenth for what is read, a quarter more for what is written, 15 for output.
    const dollars = (1000 * 3 + 7000 * 0.3 + 2000 * 3.75 + 500 * 15) / 1_000_000;
    expect(catalogue.cost(sonnet, used, day)).toBeCloseTo(dollars, 10);
    expect(catalogue.cost(unknown, used, day)).toBeUndefined();
  });
});

describe("the limits of a model", () => {
  const learned = { windows: { "turnlog:scripted": 8000 }, largest: {} };

  it("are the user's before the provider's, and the provider's before the catalogue's", () => {
    expect(modelLimits(unknown, day, { catalogue })).toEqual({});
    expect(modelLimits(unknown, day, { catalogue, learned }).contextWindow).toBe(8000);
    const overrides = { scripted: { contextWindow: 500 } };
    expect(modelLimits(unknown, day, { learned, overrides }).contextWindow).toBe(500);
    const exact = { ...overrides, "turnlog:scripted": { contextWindow: 400 } };
    expect(modelLimits(unknown, day, { learned, overrides: exact }).contextWindow).toBe(400);
    const told = { windows: { "openai.responses:gpt-5": 272_000 }, largest: {} };
    expect(modelLimits(gpt5, day, { catalogue, learned: told })).toMatchObject({
      contextWindow: 272_000,
      prices: { input: expect.closeTo(1.25) as number },
    });
  });

  it("are those of the offline model without a catalogue, and keep what is not overridden", () => {
    const offline = { provider: "turnlog", modelId: "offline" };
    expect(modelLimits(offline, day, {})).toEqual({ contextWindow: 1_000_000 });
    const listed = {
      limits: () => ({ contextWindow: 100, maxOutputTokens: 7 }),
      cost: () => undefined,
    };
    const overrides = { scripted: { maxOutputTokens: 5, cacheLifetimeMs: 60_000 } };
    expect(modelLimits(unknown, day, { catalogue: listed, overrides })).toEqual({
      contextWindow: 100,
      maxOutputTokens: 5,
      cacheLifetimeMs: 60_000,
    });
    expect(modelLimits(unknown, day, { catalogue: listed, overrides: {} })).toEqual({
      contextWindow: 100,
      maxOutputTokens: 7,
    });
    const billed = (tokens: number): unknown =>
      modelLimits(unknown, day, {
        catalogue: listed,
        learned: { windows: {}, largest: { "turnlog:scripted": tokens } },
      });
    expect(billed(100)).toEqual({ contextWindow: 100, maxOutputTokens: 7 });
    expect(billed(101)).toEqual({ maxOutputTokens: 7 });
    for (const name of ["constructor", "toString"])
      expect(modelLimits({ provider: "p", modelId: name }, day, { overrides: {} })).toEqual({});
  });

  it("do not hold a window that is smaller than a prompt which was billed", () => {
    const largest = { windows: {}, largest: { "openai.responses:gpt-5": 600_000 } };
    expect(modelLimits(gpt5, day, { catalogue, learned: largest }).contextWindow).toBeUndefined();
  });
});

describe("the cost of a session", () => {
  const state: UsageState = {
    steps: [
      { turn: 1, step: 1, model: gpt5, time: day, usage: used },
      { turn: 2, step: 2, model: unknown, time: day, usage: used },
    ],
    beside: [
      { kind: "retry", turn: 1, model: gpt5, time: day, usage: { ...used, basis: "estimated" } },
      { kind: "compaction", turn: 0, model: gpt5, time: day, usage: used },
    ],
    total: used,
    turn: 0,
  };
  const known: KnownLimits = {
    overrides: { "gpt-5": { prices: { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 2 } } },
  };
  const call = (1000 + 7000 * 0.1 + 2000 * 2 + 500 * 10) / 1_000_000;

  it("is the user's price for each part, and tells what has none", () => {
    expect(callCost(gpt5, used, day, known)).toBeCloseTo(call, 12);
    const { steps, retries, compactions, total } = sessionCost(state, known);
    expect(steps).toEqual({
      dollars: expect.closeTo(call, 12) as number,
      basis: "measured",
      unpriced: 1,
    });
    expect(retries).toMatchObject({ basis: "estimated", unpriced: 0 });
    expect(compactions.dollars).toBeCloseTo(call, 12);
    expect(total).toEqual({
      dollars: expect.closeTo(3 * call, 12) as number,
      basis: "estimated",
      unpriced: 1,
    });
  });

  it("is the price of input where the cache has none, and for tokens without figures", () => {
    const prices = { input: 3, output: 5 };
    const of = (more: Partial<TokenUsage>, own: object = {}): number =>
      1_000_000 *
      (callCost(gpt5, { basis: "measured", inputTokens: 100, outputTokens: 0, ...more }, day, {
        overrides: { "gpt-5": { prices: { ...prices, ...own } } },
      }) ?? 0);
    expect(of({})).toBeCloseTo(300, 9);
    expect(of({ outputTokens: 10 })).toBeCloseTo(350, 9);
    expect(of({ cacheReadTokens: 40, cacheWriteTokens: 30 })).toBeCloseTo(300, 9);
    expect(of({ cacheReadTokens: 40 }, { cacheRead: 1 })).toBeCloseTo(220, 9);
    expect(of({ cacheWriteTokens: 40 }, { cacheWrite: 4 })).toBeCloseTo(340, 9);
    // Figures that contradict each other never make a call cheaper than what it read.
    expect(of({ cacheReadTokens: 140 }, { cacheRead: 1 })).toBeCloseTo(140, 9);
    expect(callCost(gpt5, used, day, {})).toBeUndefined();
  });

  it("adds up over the turns and what is between them", () => {
    const turns = [0, 1, 2].map((turn) => sessionCost(state, known, turn).total);
    const whole = sessionCost(state, known).total;
    expect(turns.reduce((sum, { dollars }) => sum + dollars, 0)).toBeCloseTo(whole.dollars, 12);
    expect(turns.reduce((sum, { unpriced }) => sum + unpriced, 0)).toBe(whole.unpriced);
  });
});
