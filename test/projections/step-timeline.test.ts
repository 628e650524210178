/** What a step spent its time on, told from its events alone. */

import { describe, expect, it } from "vitest";
import type { EventBody, SessionEvent } from "../../src/events/index.ts";
import { stepTimelines } from "../../src/projections/step-timeline.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";

const model = { provider: "turnlog", modelId: "m" };

/** Events at given milliseconds, as a step that begins at 1,000. */
function eventsAt(...moments: readonly (readonly [number, EventBody])[]): readonly SessionEvent[] {
  return moments.map(([at, body], index) => ({ position: index + 1, time: 1000 + at, ...body }));
}

function started(step: number, attempt = 1): EventBody {
  const estimate = { tokens: 1, basis: "length" } as const;
  return {
    type: "step.started",
    data: { turn: 1, step, attempt, model, promptDigest: "d", estimate },
  };
}

function finished(step: number, outputTokens: number): EventBody {
  const usage = { basis: "measured", inputTokens: 10, outputTokens } as const;
  return { type: "step.finished", data: { step, finishReason: "stop", usage, response: {} } };
}

const text = (id: string, delta: string): EventBody => ({
  type: "part.text-delta",
  data: { id, text: delta },
});

describe("the timeline of a step", () => {
  it("tells the time to the first token, what was said when, the gaps, and tokens for a second", () => {
    const events = eventsAt(
      [0, started(1)],
      [5, { type: "part.start-step", data: { warnings: [] } }],
      [200, { type: "part.reasoning-start", data: { id: "r" } }],
      [250, { type: "part.reasoning-delta", data: { id: "r", text: "Hm" } }],
      [300, { type: "part.reasoning-end", data: { id: "r" } }],
      [310, { type: "part.text-start", data: { id: "t" } }],
      [320, text("t", "One ")],
      [900, text("t", "two")],
      [910, { type: "part.text-end", data: { id: "t" } }],
      [1200, finished(1, 50)],
    );
    expect(stepTimelines(events)).toEqual([
      {
        turn: 1,
        step: 1,
        attempts: 1,
        model,
        position: 1,
        startedAt: 1000,
        outcome: "finished",
        totalMs: 1200,
        firstTokenMs: 200,
        usage: { basis: "measured", inputTokens: 10, outputTokens: 50 },
        tokensPerSecond: 50,
        spans: [
          { kind: "waiting", from: 0, to: 200 },
          { kind: "reasoning", from: 200, to: 300 },
          { kind: "text", from: 310, to: 910 },
          { kind: "gap", from: 320, to: 900 },
        ],
      },
    ]);
  });

  it("tells tools side by side, each with how it went, and waiting for a person", () => {
    const key = (callId: string) => ({ step: 1, callId });
    const run = (callId: string, toolName: string): EventBody => ({
      type: "tool.started",
      data: { ...key(callId), toolName, attempt: 1, effectId: `s/1/${callId}` },
    });
    const [timeline] = stepTimelines(
      eventsAt(
        [0, started(1)],
        [10, { type: "part.tool-input-start", data: { id: "1", toolName: "map" } }],
        [20, { type: "part.tool-input-end", data: { id: "1" } }],
        [30, finished(1, 5)],
        [40, run("1", "map")],
        [41, { type: "tool.approval-requested", data: { ...key("2"), toolName: "book" } }],
        [90, { type: "tool.approval-answered", data: { ...key("2"), approved: true } }],
        [91, run("2", "book")],
        [100, { type: "tool.succeeded", data: { ...key("1"), output: 1 } }],
        [400, { type: "tool.unknown", data: { ...key("2"), reason: "timed-out" } }],
        [500, { type: "turn.ended", data: { turn: 1, reason: "stop" } }],
      ),
    );
    expect(timeline?.totalMs).toBe(400);
    expect(timeline?.spans.slice(1)).toEqual([
      { kind: "input", label: "map", from: 10, to: 20 },
      { kind: "tool", label: "map", from: 40, to: 100, outcome: "succeeded" },
      { kind: "approval", label: "book", from: 41, to: 90, outcome: "approved" },
      { kind: "tool", label: "book", from: 91, to: 400, outcome: "unknown" },
    ]);
  });

  it("tells each attempt and what lay between, and counts the first token from the attempt that spoke", () => {
    const error = { name: "Error", message: "busy" };
    const events = eventsAt(
      [0, started(1)],
      [
        100,
        {
          type: "step.retrying",
          data: { step: 1, attempt: 1, delayMs: 50, kind: "overloaded", error },
        },
      ],
      [150, started(1, 2)],
      [180, text("t", "At last.")],
      [200, finished(1, 4)],
      [210, started(2)],
    );
    const [first, second] = stepTimelines(events);
    expect(first).toMatchObject({ attempts: 2, firstTokenMs: 30, totalMs: 200 });
    expect(first?.spans).toEqual([
      { kind: "waiting", from: 0, to: 100 },
      { kind: "retry", label: "overloaded", from: 100, to: 150 },
      { kind: "waiting", from: 150, to: 180 },
      { kind: "text", from: 180, to: 200 },
    ]);
    // It runs: nobody has seen its end.
    expect(second).toMatchObject({ step: 2, totalMs: 0, spans: [{ kind: "waiting", from: 0 }] });
    expect(second?.outcome).toBeUndefined();
  });

  it.each(fixtureNames)(
    "is one for each step of %s, with no span before it or behind it",
    async (name) => {
      const events = await readFixture(name);
      const timelines = stepTimelines(events);
      const steps = events.flatMap((event) =>
        event.type === "step.started" && event.data.attempt === 1 ? [event.data.step] : [],
      );
      expect(timelines.map(({ step }) => step)).toEqual(steps);
      const outside = timelines.flatMap(({ spans, totalMs }) =>
        spans.filter(({ from, to = from }) => from < 0 || to < from || to > totalMs),
      );
      expect(outside).toEqual([]);
    },
  );
});
