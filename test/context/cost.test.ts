/** Money: what a session has paid itself, by what it was spent on, and apart from that what it shares. */

import { expect, it } from "vitest";
import { estimateSpent, sessionCost, turnsCost } from "../../src/context/spending/cost.ts";
import {
  history,
  noUsage,
  type HistoryPart,
  type UsageState,
} from "../../src/projections/index.ts";
import type { TokenUsage } from "../../src/events/index.ts";
import { textTokens } from "../../src/context/estimate/text-tokens.ts";

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

it("some turns cost what their own steps, retries and summaries do", () => {
  const cost = (...turns: readonly number[]): number =>
    turnsCost(fork, priced, new Set(turns)).dollars;
  expect([cost(2), cost(1), cost(1, 2), cost()]).toEqual([302, 0, 302, 0]);
  const { inherited: _, ...whole } = fork;
  const all = turnsCost(whole, priced, new Set([0, 1]));
  expect(all).toEqual({ dollars: 31, basis: "measured", unpriced: 0 });
});

it("a session that is no fork inherits nothing, and all that it has is its own", () => {
  const { inherited: _, ...whole } = fork;
  const cost = sessionCost(whole, priced);
  expect(cost).not.toHaveProperty("inherited");
  expect(cost.total.dollars).toBe(333);
  expect(sessionCost(fork, priced, 2)).not.toHaveProperty("inherited");
});

it("a call without a model has no known price", () => {
  const nameless = { kind: "compaction", turn: 1, time: 0, usage: noUsage } as const;
  const { compactions } = sessionCost(
    { ...fork, steps: [], beside: [nameless, nameless, nameless] },
    priced,
  );
  expect(compactions).toEqual({ dollars: 0, basis: "measured", unpriced: 1 });
});

it("the running step has spent its prompt and its words so far, unless that was recorded", () => {
  const estimate = { tokens: 70, basis: "length" } as const;
  const running = { turn: 1, step: 3, model, estimate };
  const call = { callId: "c", toolName: "work", input: { path: "a" } };
  const parts = [
    { kind: "text", id: "t", text: "Well, then.", open: true },
    { kind: "reasoning", id: "r", text: "Let me see.", open: false },
    { kind: "call", ...call, outcome: { status: "waiting" } },
    { kind: "provider-call", ...call },
    { kind: "source", source: {} },
  ] as const satisfies readonly HistoryPart[];
  const open = {
    kind: "step",
    turn: 1,
    step: 3,
    attempt: 1,
    model,
    position: 1,
    time: 0,
    status: "streaming",
    parts,
  } as const;
  const said =
    textTokens("Well, then.") + textTokens("Let me see.") + 2 * textTokens('work{"path":"a"}');
  const spent = (state: UsageState, ...steps: readonly (typeof open)[]): TokenUsage =>
    estimateSpent(state, { ...history.initial, ...(steps[0] && { open: steps[0] }) });
  expect(spent({ ...fork, running }, open)).toEqual({
    basis: "estimated",
    inputTokens: 70,
    outputTokens: Math.ceil(said),
  });
  expect(spent({ ...fork, running })).toMatchObject({ inputTokens: 70, outputTokens: 0 });
  expect(spent({ ...fork, running: { ...running, isTold: true } }, open)).toEqual(noUsage);
  expect(spent(fork, open)).toEqual(noUsage);
});
