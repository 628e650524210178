/** Whether a provider still has the beginning of a prompt, and what a miss costs. */

import { describe, expect, it } from "vitest";
import { SHORTEST_LIFETIME_MS } from "../../src/context/models/model-family.ts";
import { promptCache } from "../../src/context/shortening/pruning.ts";
import type { TokenUsage } from "../../src/events/index.ts";
import { noUsage, type UsageState } from "../../src/projections/index.ts";

const MINUTE = 60_000;
const model = { provider: "acme", modelId: "m" };
const bill: TokenUsage = { basis: "measured", inputTokens: 9, outputTokens: 1 };

/** Steps that ended at minute 10, a turn each by default. */
function after(bills: readonly Partial<TokenUsage>[], turnOf = (step: number) => step): UsageState {
  const steps = bills.map((more, index) => ({
    turn: turnOf(index),
    step: index + 1,
    model,
    time: 10 * MINUTE,
    usage: { ...bill, ...more },
  }));
  return { steps, beside: [], total: noUsage, turn: 0 };
}

const isWarm = (usage: UsageState, minutes: number, of = model): boolean =>
  promptCache(usage, of, {}, (10 + minutes) * MINUTE).warm;

describe("the cache", () => {
  it("is warm for as long as its provider keeps it, to the millisecond", () => {
    const lifetimes = [
      ["anthropic", 5],
      ["openai", 10],
      ["google", 5],
      ["deepseek", 120],
      ["acme", 5],
    ] as const;
    for (const [provider, minutes] of lifetimes) {
      const of = { provider, modelId: "m" };
      const usage = after([{}]);
      const steps = usage.steps.map((step) => ({ ...step, model: of }));
      const at = (now: number): boolean => promptCache({ ...usage, steps }, of, {}, now).warm;
      expect([provider, at((10 + minutes) * MINUTE)]).toEqual([provider, true]);
      expect([provider, at((10 + minutes) * MINUTE + 1)]).toEqual([provider, false]);
    }
    expect(SHORTEST_LIFETIME_MS).toBe(5 * MINUTE);
  });

  it("is warm for as long as Claude's marks ask for, whatever other providers keep", () => {
    const warm = (provider: string, minutes: number): boolean => {
      const of = { provider, modelId: "m" };
      const usage = after([{}]);
      const steps = usage.steps.map((step) => ({ ...step, model: of }));
      return promptCache({ ...usage, steps }, of, {}, (10 + minutes) * MINUTE, "1h").warm;
    };
    expect([warm("anthropic", 60), warm("anthropic", 61)]).toEqual([true, false]);
    expect([warm("openai", 10), warm("openai", 11)]).toEqual([true, false]);
  });

  it("is cold for another model and before the first bill", () => {
    expect(isWarm(after([{}]), 1)).toBe(true);
    expect(isWarm(after([{}]), 1, { ...model, modelId: "n" })).toBe(false);
    expect(isWarm(after([]), 1)).toBe(false);
  });

  it("is cold once the last two bills had no cached tokens, and not before", () => {
    const none = { cacheReadTokens: 0, cacheWriteTokens: 0 };
    expect(isWarm(after([none]), 1)).toBe(true);
    expect(isWarm(after([none, none]), 1)).toBe(false);
    expect(isWarm(after([{ cacheReadTokens: 9 }, none, none]), 1)).toBe(false);
    expect(isWarm(after([none, none, { cacheReadTokens: 9 }]), 1)).toBe(true);
    expect(isWarm(after([{ cacheReadTokens: 9 }, none]), 1)).toBe(true);
    expect(isWarm(after([none, { ...none, cacheWriteTokens: 9 }]), 1)).toBe(true);
    // A provider that writes without telling, and one that tells nothing.
    expect(isWarm(after([{ cacheReadTokens: 0 }, { cacheReadTokens: 0 }]), 1)).toBe(false);
    expect(isWarm(after([{}, {}]), 1)).toBe(true);
  });
});

describe("a miss", () => {
  const prices = (known: object | undefined): readonly number[] => {
    const { read, write } = promptCache(
      after([{}]),
      model,
      known ? { prices: known as never } : {},
      0,
    );
    return [read, write];
  };

  it("costs by the model's prices, relative to plain input, or as the most expensive providers take", () => {
    expect(prices({ input: 4, output: 9, cacheRead: 1, cacheWrite: 5 })).toEqual([0.25, 1.25]);
    expect(prices({ input: 4, output: 9 })).toEqual([1, 1]);
    expect(prices(undefined)).toEqual([0.1, 1.25]);
    expect(prices({ input: 0, output: 9 })).toEqual([0.1, 1.25]);
  });

  it("concerns as many steps as a turn has had on average, at the least one", () => {
    const steps = (usage: UsageState): number => promptCache(usage, model, {}, 0).expectedSteps;
    expect(steps(after([]))).toBe(1);
    expect(steps(after([{}, {}]))).toBe(1);
    expect(steps(after([{}, {}, {}, {}, {}], (step) => (step < 3 ? 1 : 2)))).toBe(2.5);
  });
});
