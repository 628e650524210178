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

  it("names the model that took over, and is that model's", () => {
    const error = { name: "Error", message: "busy" };
    const from = { provider: "one", modelId: "m" };
    const to = { provider: "two", modelId: "n" };
    const why = "overloaded" as const;
    const again = started(1, 2);
    const events = eventsAt(
      [0, started(1)],
      [100, { type: "step.failed-over", data: { step: 1, attempt: 1, from, to, why } }],
      [100, { type: "step.retrying", data: { step: 1, attempt: 1, delayMs: 0, kind: why, error } }],
      [150, { ...again, data: { ...again.data, model: to } } as typeof again],
      [200, finished(1, 4)],
    );
    expect(stepTimelines(events)).toMatchObject([
      { model: to, spans: [{}, { kind: "retry", label: "overloaded, then n" }, {}] },
    ]);
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

describe("what streams", () => {
  const end = (at: number): readonly [number, EventBody] => [at, finished(1, 100)];
  const gapsOf = (...moments: readonly (readonly [number, EventBody])[]): readonly unknown[] =>
    (stepTimelines(eventsAt([0, started(1)], ...moments))[0]?.spans ?? []).flatMap((span) =>
      span.kind === "gap" ? [[span.from, span.to]] : [],
    );

  it("has a gap of at least 50 ms that is a tenth of the stream's time", () => {
    expect(gapsOf([10, text("t", "a")], [60, text("t", "b")], end(100))).toEqual([[10, 60]]);
    expect(gapsOf([10, text("t", "a")], [59, text("t", "b")], end(100))).toEqual([]);
    expect(gapsOf([0, text("t", "a")], [100, text("t", "b")], end(1000))).toEqual([[0, 100]]);
    expect(gapsOf([0, text("t", "a")], [99, text("t", "b")], end(1000))).toEqual([]);
    // It runs: so far the stream has the time to its last token.
    expect(gapsOf([0, text("t", "a")], [300, text("t", "b")], [350, text("t", "c")])).toEqual([
      [0, 300],
      [300, 350],
    ]);
  });

  it("has no gap between two attempts", () => {
    const error = { name: "Error", message: "" };
    const retrying: EventBody = {
      type: "step.retrying",
      data: { step: 1, attempt: 1, delayMs: 0, error },
    };
    const moments = [
      [0, started(1)],
      [10, text("t", "a")],
      [20, retrying],
      [520, started(1, 2)],
      [600, text("t", "b")],
      [700, finished(1, 10)],
    ] as const;
    const [timeline] = stepTimelines(eventsAt(...moments));
    expect(timeline?.spans).toEqual([
      { kind: "waiting", from: 0, to: 10 },
      { kind: "text", from: 10, to: 20 },
      { kind: "retry", from: 20, to: 520 },
      { kind: "waiting", from: 520, to: 600 },
      { kind: "text", from: 600, to: 700 },
    ]);
    expect(timeline).toMatchObject({ firstTokenMs: 80, tokensPerSecond: 100, totalMs: 700 });
  });

  it("ends with its step, however that ends, blocks with spaces in their ids too", () => {
    const usage = { basis: "estimated", inputTokens: 1, outputTokens: 1 } as const;
    const error = { name: "Error", message: "" };
    const ends = [
      [{ type: "step.failed", data: { step: 1, error, usage } }, "failed"],
      [{ type: "step.interrupted", data: { step: 1, reason: "cancelled", usage } }, "interrupted"],
    ] as const;
    for (const [body, outcome] of ends) {
      const [timeline] = stepTimelines(
        eventsAt(
          [0, started(1)],
          [10, text("a b", "One")],
          [10, { type: "part.reasoning-delta", data: { id: "r", text: "Hm" } }],
          [20, { type: "part.tool-input-delta", data: { id: "i", delta: "{" } }],
          [90, body],
        ),
      );
      expect(timeline).toMatchObject({ outcome, totalMs: 90, usage });
      expect(timeline?.spans).toEqual([
        { kind: "waiting", from: 0, to: 10 },
        { kind: "text", from: 10, to: 90 },
        { kind: "reasoning", from: 10, to: 90 },
        { kind: "input", from: 20, to: 90 },
      ]);
    }
  });

  it("has no first token and no speed where nothing was said or it took no time", () => {
    const [silent] = stepTimelines(eventsAt([0, started(1)], [50, finished(1, 9)]));
    expect(silent).not.toHaveProperty("firstTokenMs");
    expect(silent).not.toHaveProperty("tokensPerSecond");
    const [sudden] = stepTimelines(
      eventsAt([0, started(1)], [50, text("t", "a")], [50, finished(1, 9)]),
    );
    expect(sudden).toMatchObject({ firstTokenMs: 50 });
    expect(sudden).not.toHaveProperty("tokensPerSecond");
    const [free] = stepTimelines(
      eventsAt([0, started(1)], [50, text("t", "a")], [60, finished(1, 0)]),
    );
    expect(free).not.toHaveProperty("tokensPerSecond");
    const [brief] = stepTimelines(
      eventsAt([0, started(1)], [50, text("t", "a")], [51, finished(1, 1)]),
    );
    expect(brief?.tokensPerSecond).toBe(1000);
    const [open] = stepTimelines(eventsAt([0, started(1)], [50, text("t", "a")]));
    for (const field of ["outcome", "usage", "tokensPerSecond"])
      expect(open).not.toHaveProperty(field);
  });

  it("is not changed by an end of what did not begin", () => {
    const [timeline] = stepTimelines(
      eventsAt(
        [0, started(1)],
        [10, text("t", "a")],
        [20, { type: "part.reasoning-end", data: { id: "t" } }],
        [30, { type: "part.tool-input-end", data: { id: "t" } }],
      ),
    );
    expect(timeline?.totalMs).toBe(10);
    expect(timeline?.spans.at(-1)).toEqual({ kind: "text", from: 10 });
  });
});

describe("a call", () => {
  const key = { step: 1, callId: "a" };
  const spansOf = (...moments: readonly (readonly [number, EventBody])[]): readonly unknown[] =>
    stepTimelines(eventsAt([0, started(1)], [1, finished(1, 1)], ...moments))[0]?.spans.slice(1) ??
    [];
  const begun = (attempt: number): EventBody => ({
    type: "tool.started",
    data: { ...key, toolName: "work", attempt, effectId: "e" },
  });
  const asks: EventBody = { type: "tool.approval-requested", data: { ...key, toolName: "work" } };

  it("that was started again ran twice, and the end of the first run is not known", () => {
    expect(
      spansOf([10, begun(1)], [50, begun(2)], [60, { type: "tool.denied", data: key }]),
    ).toEqual([
      { kind: "tool", label: "work", from: 10 },
      { kind: "tool", label: "work", from: 50, to: 60, outcome: "denied" },
    ]);
  });

  it("that is refused, or ends while a person is asked, has an end of the question", () => {
    const answered = (approved: boolean): EventBody => ({
      type: "tool.approval-answered",
      data: { ...key, approved },
    });
    const question = { kind: "approval", label: "work", from: 10, to: 20 };
    expect(spansOf([10, asks], [20, answered(false)])).toEqual([
      { ...question, outcome: "refused" },
    ]);
    const skipped: EventBody = { type: "tool.skipped", data: { ...key, reason: "cancelled" } };
    expect(spansOf([10, asks], [20, skipped])).toEqual([question]);
  });

  it("that a client runs has the time until its output", () => {
    const asksOutput: EventBody = {
      type: "tool.output-requested",
      data: { ...key, toolName: "work" },
    };
    const error = { name: "Error", message: "" };
    expect(
      spansOf([10, asksOutput], [30, { type: "tool.failed", data: { ...key, error } }]),
    ).toEqual([{ kind: "output", label: "work", from: 10, to: 30, outcome: "failed" }]);
  });

  it("and its run are not ended by the end of the model's reply", () => {
    const [timeline] = stepTimelines(
      eventsAt([0, started(1)], [10, begun(1)], [20, asks], [30, finished(1, 1)]),
    );
    expect(timeline?.spans).toEqual([
      { kind: "waiting", from: 0, to: 30 },
      { kind: "tool", label: "work", from: 10 },
      { kind: "approval", label: "work", from: 20 },
    ]);
  });
});

it("what came before the first step belongs to none", () => {
  const error = { name: "Error", message: "" };
  const events = eventsAt(
    [0, { type: "turn.started", data: { turn: 1, maxSteps: 9 } }],
    [5, text("t", "late")],
    [10, started(1)],
    [
      20,
      { type: "step.retrying", data: { step: 1, attempt: 1, delayMs: 0, kind: "network", error } },
    ],
    [
      30,
      {
        type: "step.failed",
        data: {
          step: 1,
          error,
          usage: { basis: "estimated", inputTokens: 0, outputTokens: 0 },
        },
      },
    ],
  );
  expect(stepTimelines(events)).toMatchObject([
    {
      position: 3,
      startedAt: 1010,
      totalMs: 20,
      spans: [
        { kind: "waiting", from: 0, to: 10 },
        { kind: "retry", label: "network", from: 10, to: 20 },
      ],
    },
  ]);
});
