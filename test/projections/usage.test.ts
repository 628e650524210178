/** The usage of each step, and of what was spent beside steps, in a session and in its forks. */

import { describe, expect, it } from "vitest";
import type { EventBody, TokenUsage } from "../../src/events/index.ts";
import {
  noUsage,
  ownBeside,
  ownSteps,
  spending,
  turnUsage,
  type UsageState,
} from "../../src/projections/usage.ts";
import { stateOf, stepStarted, turnEnded } from "./session-of.ts";

const model = { provider: "turnlog", modelId: "scripted" };
const other = { provider: "other", modelId: "m" };
const estimate = { tokens: 10, basis: "length" } as const;
const error = { name: "Error", message: "" };
const cost = (inputTokens: number): TokenUsage => ({
  basis: "measured",
  inputTokens,
  outputTokens: 1,
});

const begun = (turn = 1): EventBody => ({ type: "turn.started", data: { turn, maxSteps: 9 } });
const finished = (step: number, inputTokens: number): EventBody => ({
  type: "step.finished",
  data: {
    step,
    finishReason: "stop",
    usage: { ...cost(inputTokens), raw: { odd: 1 } },
    response: {},
  },
});
const retrying = (inputTokens?: number): EventBody => ({
  type: "step.retrying",
  data: {
    step: 1,
    attempt: 1,
    delayMs: 0,
    error,
    ...(inputTokens === undefined ? {} : { usage: { ...cost(inputTokens), raw: 1 } }),
  },
});
const forked: EventBody = {
  type: "session.forked",
  data: { from: { session: "s", position: 1 } },
};

const after = (...bodies: readonly EventBody[]): UsageState => stateOf(...bodies).usage;
const none: UsageState = { steps: [], total: noUsage, beside: [], turn: 0 };
const plain = (inputTokens: number) => cost(inputTokens);
const running = { turn: 1, step: 1, model, estimate };

describe("a step", () => {
  it("runs until it ends in one of three ways, and counts then with its time", () => {
    expect(after(begun(), stepStarted(1))).toStrictEqual({ ...none, turn: 1, running });
    const ends: readonly EventBody[] = [
      finished(1, 5),
      { type: "step.failed", data: { step: 1, error, usage: cost(5) } },
      { type: "step.interrupted", data: { step: 1, reason: "cancelled", usage: cost(5) } },
    ];
    const steps = [{ turn: 1, step: 1, model, time: 2000, usage: plain(5) }];
    for (const end of ends) {
      const state = after(begun(), stepStarted(1), end);
      expect(state).toMatchObject({ turn: 1, beside: [], total: { inputTokens: 5 } });
      expect(state.steps).toStrictEqual(steps);
      expect(state).not.toHaveProperty("running");
    }
  });

  it("that does not run, or is another, does not count", () => {
    expect(after(begun(), finished(1, 5))).toStrictEqual({ ...none, turn: 1 });
    const state = after(begun(), stepStarted(1), finished(2, 5));
    expect(state).toStrictEqual({ ...none, turn: 1, running });
  });

  it("has told the usage of an attempt until the next one begins", () => {
    const beside = [{ kind: "retry", turn: 1, model, time: 2000, usage: plain(3) }];
    const failed = after(begun(), stepStarted(1), retrying(3));
    expect(failed.running).toStrictEqual({ ...running, isTold: true });
    expect(failed.beside).toStrictEqual(beside);
    expect(after(begun(), stepStarted(1), retrying(3), stepStarted(1, 2))).toStrictEqual({
      ...none,
      turn: 1,
      beside,
      running,
    });
    expect(after(begun(), stepStarted(1), retrying())).toStrictEqual({ ...none, turn: 1, running });
    expect(after(begun(), retrying(3))).toStrictEqual({ ...none, turn: 1 });
  });

  it("whose prompt was refused has nothing left to tell", () => {
    const overflowed: EventBody = { type: "context.overflowed", data: { step: 1 } };
    expect(after(begun(), stepStarted(1), overflowed)).toStrictEqual({
      ...none,
      turn: 1,
      running: { ...running, isTold: true },
    });
    expect(after(begun(), overflowed)).toStrictEqual({ ...none, turn: 1 });
  });
});

it("each call for a summary counts beside the steps, in its turn, with its model if that is known", () => {
  const covers = { from: 1, to: 2 };
  const usage = { ...cost(7), raw: 1 };
  const compacted = { strategy: "s", covers, summary: "", beforeTokens: 9, afterTokens: 1 };
  const bodies: readonly EventBody[] = [
    { type: "context.compacted", data: { ...compacted, model: other, usage } },
    {
      type: "context.compaction-rejected",
      data: { strategy: "s", why: "failed", model: other, usage },
    },
    {
      type: "context.summary-rejected",
      data: { strategy: "s", rung: "whole", why: "empty", model: other, usage },
    },
  ];
  const entry = { kind: "compaction", turn: 1, time: 1000, usage: plain(7) };
  for (const body of bodies)
    expect(after(begun(), body).beside).toStrictEqual([{ ...entry, model: other }]);
  const nameless: EventBody = { type: "context.compacted", data: { ...compacted, usage } };
  expect(after(begun(), nameless).beside).toStrictEqual([entry]);
  const free: EventBody = { type: "context.compacted", data: compacted };
  expect(after(begun(), free)).toStrictEqual({ ...none, turn: 1 });
  expect(after(begun(), turnEnded(), nameless).beside).toMatchObject([{ turn: 0 }]);
});

describe("a fork", () => {
  const shared = [begun(), stepStarted(1), retrying(3), stepStarted(1, 2), finished(1, 5)];

  it("has inherited all that was spent before, and its own steps count anew", () => {
    const fork = after(...shared, forked);
    expect(fork.total).toEqual(noUsage);
    expect(fork.inherited).toMatchObject({ step: 1, beside: 1, total: { inputTokens: 8 } });
    const own = after(...shared, forked, stepStarted(2), retrying(20), finished(2, 30));
    expect(own.inherited).toEqual(fork.inherited);
    expect(own.total.inputTokens).toBe(30);
    expect(ownSteps(own).map(({ step }) => step)).toEqual([2]);
    expect(ownBeside(own).map(({ usage }) => usage.inputTokens)).toEqual([20]);
    expect(spending(own)).toMatchObject({
      steps: { inputTokens: 30 },
      retries: { inputTokens: 20 },
      total: { inputTokens: 50 },
      inherited: { inputTokens: 8 },
    });
    expect(spending(own, 1)).not.toHaveProperty("inherited");
    expect(spending(after(...shared))).not.toHaveProperty("inherited");
    expect(ownSteps(after(...shared))).toHaveLength(1);
    expect(ownBeside(after(...shared))).toHaveLength(1);
  });

  it("of a fork has inherited what both have spent", () => {
    const again = after(...shared, forked, stepStarted(2), finished(2, 30), forked);
    expect(again.inherited).toMatchObject({ step: 2, beside: 1, total: { inputTokens: 38 } });
    expect(again.total).toEqual(noUsage);
  });

  it("leaves the bill of a step that ran at the fork point to its source", () => {
    const state = after(begun(), stepStarted(1), forked, finished(1, 5));
    expect(state.total).toEqual(noUsage);
    expect(state.steps).toHaveLength(1);
    expect(state).not.toHaveProperty("running");
    expect(state.inherited).toMatchObject({ step: 1, beside: 0, total: { inputTokens: 5 } });
    expect(after(forked).inherited).toStrictEqual({ step: 0, beside: 0, total: noUsage });
  });
});

it("a turn has its own steps, whatever turns came before and after it", () => {
  const state = after(
    begun(1),
    stepStarted(1),
    finished(1, 1),
    stepStarted(2),
    finished(2, 2),
    ...[3, 4].flatMap((step): readonly EventBody[] => {
      const started = stepStarted(step);
      if (started.type !== "step.started") return [];
      const turn = step === 3 ? 2 : 4;
      return [{ ...started, data: { ...started.data, turn } }, finished(step, 10 ** step)];
    }),
  );
  const inputs = [0, 1, 2, 3, 4, 5].map((turn) => turnUsage(state, turn).inputTokens);
  expect(inputs).toEqual([0, 3, 1000, 0, 10_000, 0]);
});
