/** Money: what a session has paid itself, by what it was spent on, and apart from that what it shares. */

import { expect, it } from "vitest";
import { sessionCost } from "../../src/context/cost.ts";
import { noUsage, type UsageState } from "../../src/projections/index.ts";
import type { TokenUsage } from "../../src/events/index.ts";

const model = { provider: "p", modelId: "m" };
const priced = {
  catalogue: { limits: () => undefined, cost: (_: unknown, used: TokenUsage) => used.inputTokens },
};

function entry(turn: number, inputTokens: number) {
  return { turn, time: 0, model, usage: { ...noUsage, inputTokens } };
}

/** A fork: one step, retry and summary are shared, and it has each of them of its own. */
const fork: UsageState = {
  turn: 0,
  total: noUsage,
  steps: [
    { step: 1, ...entry(1, 1) },
    { step: 2, ...entry(2, 2) },
  ],
  beside: [
    { kind: "retry", ...entry(1, 10) },
    { kind: "compaction", ...entry(0, 20) },
    { kind: "retry", ...entry(2, 100) },
    { kind: "compaction", ...entry(2, 200) },
  ],
  inherited: { step: 1, beside: 2, total: noUsage },
};

function dollars(turn?: number): readonly (number | undefined)[] {
  const { steps, retries, compactions, total, inherited } = sessionCost(fork, priced, turn);
  return [steps, retries, compactions, total, inherited].map((cost) => cost?.dollars);
}

it("a fork costs what it has spent itself, retries and summaries too; the cost of the shared part is a separate figure", () => {
  expect(dollars()).toEqual([2, 100, 200, 302, 31]);
});

it("a turn of a fork costs its own calls, and inherits nothing", () => {
  expect(dollars(2)).toEqual([2, 100, 200, 302, undefined]);
  expect(dollars(1)).toEqual([0, 0, 0, 0, undefined]);
});

it("calls without a known price are counted, and a sum with an estimate in it is one", () => {
  const unknown = { catalogue: { limits: () => undefined, cost: () => undefined } };
  expect(sessionCost(fork, unknown).total).toEqual({ dollars: 0, basis: "measured", unpriced: 3 });
  const [, own] = fork.steps;
  if (own === undefined) throw new Error("It has no step of its own.");
  const guessed = { ...own, usage: { ...own.usage, basis: "estimated" as const } };
  const { total, retries } = sessionCost({ ...fork, steps: [guessed] }, priced);
  expect([total.basis, retries.basis]).toEqual(["estimated", "measured"]);
});
