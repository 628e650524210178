/** How compactions have gone: what keeps them from being tried again and again, and when that is over. */

import { describe, expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { compactions, type CompactionsState } from "../../src/projections/compactions.ts";
import { stateOf, stepFinished, stepStarted } from "./session-of.ts";

const usage = { basis: "measured", inputTokens: 10, outputTokens: 2 } as const;
const error = { name: "Error", message: "" };
const agent = { digest: "", model: { provider: "p", modelId: "m" }, tools: [] };
const from = { session: "s", position: 1 };
const started: EventBody = {
  type: "context.compaction-started",
  data: { trigger: "overflow", strategy: "s" },
};
const overflowed: EventBody = { type: "context.overflowed", data: { step: 1 } };

function compacted(afterTokens: number, scale?: number): EventBody {
  const covers = { from: 1, to: 2 };
  const data = { strategy: "s", covers, summary: "", beforeTokens: 99, afterTokens };
  return { type: "context.compacted", data: scale === undefined ? data : { ...data, scale } };
}

function rejected(beforeTokens?: number): EventBody {
  const data = { strategy: "s", why: "nothing-to-gain" } as const;
  return {
    type: "context.compaction-rejected",
    data: beforeTokens === undefined ? data : { ...data, beforeTokens },
  };
}

function billed(inputTokens: number, basis: "measured" | "estimated" = "measured"): EventBody {
  const spent = { ...usage, inputTokens, basis };
  return {
    type: "step.finished",
    data: { step: 1, finishReason: "stop", usage: spent, response: {} },
  };
}

function after(...bodies: readonly EventBody[]): CompactionsState {
  const { compactions: state } = stateOf(...bodies);
  expect(compactions.schema.parse(structuredClone(state))).toEqual(state);
  return state;
}

describe("attempts", () => {
  const tried = [stepStarted(1), overflowed, started, rejected(), overflowed, started];
  const ends: readonly EventBody[] = [
    { type: "turn.started", data: { turn: 2, maxSteps: 9 } },
    stepFinished(1),
    { type: "step.failed", data: { step: 1, error, usage } },
    { type: "step.interrupted", data: { step: 1, reason: "cancelled", usage } },
  ];

  it("are counted, and refusals beside them, until a step ends or a turn begins", () => {
    expect(after(...tried)).toMatchObject({ attempts: 2, overflows: 2 });
    for (const end of ends)
      expect(after(...tried, end)).toMatchObject({ attempts: 0, overflows: 0 });
    expect(after(overflowed, stepFinished(1))).toMatchObject({ attempts: 0, overflows: 0 });
  });

  it("say what they are for and how the last one ended, which is nothing for a new refusal", () => {
    expect(after(started)).toMatchObject({ trigger: "overflow" });
    expect(after(started).outcome).toBeUndefined();
    expect(after(started, rejected()).outcome).toBe("nothing-to-gain");
    expect(after(started, compacted(5)).outcome).toBe("compacted");
    expect(after(started, compacted(5), started).outcome).toBeUndefined();
    const { trigger, outcome } = after(started, compacted(5), overflowed);
    expect([trigger, outcome]).toEqual([undefined, undefined]);
  });
});

describe("the size of the prompt at the last one", () => {
  it("is a guess until the first bill, which may raise it and does so once", () => {
    expect(after(compacted(50))).toMatchObject({ settled: 50, isGuess: true });
    expect(after(compacted(50), billed(70))).toMatchObject({ settled: 70, isGuess: false });
    expect(after(compacted(50), billed(30))).toMatchObject({ settled: 50, isGuess: false });
    expect(after(compacted(50), billed(70), billed(90)).settled).toBe(70);
    for (const nothing of [billed(70, "estimated"), billed(0)])
      expect(after(compacted(50), nothing)).toMatchObject({ settled: 50, isGuess: true });
  });

  it("is what a rejected one tells, and forgotten once something is undone", () => {
    expect(after(compacted(50), rejected(80)).settled).toBe(80);
    expect(after(compacted(50), rejected()).settled).toBe(50);
    const restored: EventBody = { type: "context.restored", data: { position: 1 } };
    expect(after(compacted(50), restored)).toMatchObject({ isGuess: false, isUndone: true });
    expect(after(compacted(50), restored).settled).toBeUndefined();
    // What was brought back is as large as the first step that sends it, or as its own compaction leaves it.
    const sent = after(compacted(50), restored, stepStarted(1));
    expect(sent).toMatchObject({ settled: 10, isGuess: true });
    expect([sent.isUndone, after(restored, compacted(40)).isUndone]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

it("turns are counted that end after the last one, also if that was undone", () => {
  const ended: EventBody = { type: "turn.ended", data: { turn: 1, reason: "stop" } };
  expect(after(ended, rejected(), ended).turns).toBe(2);
  const restored: EventBody = { type: "context.restored", data: { position: 1 } };
  expect(after(ended, compacted(50), ended, restored).turns).toBe(1);
});

it("the scale of a compaction holds until the next bill, the next compaction, or another agent", () => {
  const scaled = compacted(50, 1.5);
  const forked: EventBody = { type: "session.forked", data: { from } };
  for (const kept of [[], [billed(70, "estimated")], [started, rejected()], [forked]])
    expect(after(scaled, ...kept).scale).toBe(1.5);
  const others: readonly EventBody[] = [
    billed(70),
    compacted(40),
    { type: "session.configured", data: { agent } },
    { type: "session.forked", data: { from, agent } },
  ];
  for (const other of others) expect(after(scaled, other).scale).toBeUndefined();
  expect(after(scaled, compacted(40, 2)).scale).toBe(2);
});
