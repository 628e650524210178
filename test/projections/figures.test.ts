/** Usage, tool calls, queue and the line in the list: what each says, beyond that it is a fold. */

import { describe, expect, it } from "vitest";
import type { EventBody, TokenUsage } from "../../src/events/index.ts";
import { addUsage, noUsage, turnUsage, usage } from "../../src/projections/usage.ts";
import {
  asked,
  called,
  said,
  stateOf,
  stepFinished,
  stepStarted,
  turnEnded,
} from "./session-of.ts";

const measured: TokenUsage = {
  basis: "measured",
  inputTokens: 10,
  outputTokens: 4,
  cacheReadTokens: 6,
  textTokens: 3,
};
const estimated: TokenUsage = { basis: "estimated", inputTokens: 5, outputTokens: 1 };

describe("the sum of two figures", () => {
  it("is measured only if both are", () => {
    expect(addUsage(measured, measured).basis).toBe("measured");
    expect(addUsage(measured, estimated).basis).toBe("estimated");
    expect(addUsage(noUsage, measured).basis).toBe("measured");
  });

  it("leaves out a part that one of them does not tell, and never what both do", () => {
    expect(addUsage(measured, { ...measured, textTokens: 1 })).toEqual({
      basis: "measured",
      inputTokens: 20,
      outputTokens: 8,
      cacheReadTokens: 12,
      textTokens: 4,
    });
    expect(addUsage(measured, estimated)).toEqual({
      basis: "estimated",
      inputTokens: 15,
      outputTokens: 5,
    });
  });

  it("is the other when one is nothing", () => {
    expect(addUsage(noUsage, measured)).toEqual(measured);
  });
});

describe("usage", () => {
  it("counts a step once, for the attempt that ended it, and keeps no raw figures", () => {
    const state = stateOf(
      ...asked("Go."),
      stepStarted(1),
      {
        type: "step.retrying",
        data: { step: 1, attempt: 1, delayMs: 0, error: { name: "Error", message: "" } },
      },
      stepStarted(1, 2),
      {
        type: "step.finished",
        data: {
          step: 1,
          finishReason: "stop",
          usage: { ...measured, raw: { odd: 1 } },
          response: {},
        },
      },
    );
    expect(state.usage.total).toEqual(measured);
    expect(state.usage.steps).toMatchObject([{ turn: 1, step: 1, usage: measured }]);
    expect(state.usage.running).toBeUndefined();
  });

  it("tells the running step with what its prompt was estimated at", () => {
    const { usage: running } = stateOf(...asked("Go."), stepStarted(1));
    expect(running.running).toMatchObject({ step: 1, estimate: { tokens: 10, basis: "length" } });
    expect(turnUsage(running, 1)).toEqual(noUsage);
  });
});

describe("tool calls", () => {
  it("are known by step and call id, and tell how long they ran", () => {
    const key = { step: 1, callId: "1" };
    const started: EventBody = {
      type: "tool.started",
      data: { ...key, toolName: "work", attempt: 1, effectId: "e" },
    };
    const bodies = [
      ...asked("Go."),
      stepStarted(1),
      called("1"),
      called("2"),
      stepFinished(1, "tool-calls"),
      started,
    ];
    expect(stateOf(...bodies).toolCalls.open.map(({ callId, status }) => [callId, status])).toEqual(
      [
        ["1", "running"],
        ["2", "waiting"],
      ],
    );
    const after = stateOf(
      ...bodies,
      { type: "tool.failed", data: { ...key, error: { name: "E", message: "" } } },
      stepStarted(2),
      called("1"),
    );
    expect(after.toolCalls.ended).toMatchObject([
      {
        step: 1,
        callId: "1",
        status: "failed",
        attempts: 1,
        effectId: "e",
        startedAt: 7000,
        endedAt: 8000,
      },
    ]);
    expect(after.toolCalls.open).toMatchObject([
      { step: 1, callId: "2", status: "waiting", attempts: 0 },
      { step: 2, callId: "1", status: "waiting" },
    ]);
  });

  it("do not count what the provider ran itself, nor a call id that comes twice in a step", () => {
    const { toolCalls, history } = stateOf(
      ...asked("Go."),
      stepStarted(1),
      called("1", "first"),
      called("1", "second"),
      {
        type: "part.tool-call",
        data: { toolCallId: "p", toolName: "search", providerExecuted: true },
      },
    );
    expect(toolCalls.open).toHaveLength(1);
    expect(history.open?.parts).toMatchObject([
      { kind: "call", input: { input: "first" } },
      { kind: "provider-call" },
    ]);
  });
});

describe("the summary", () => {
  it("has the beginning of the first message as its title, in one line", () => {
    const { summary } = stateOf(
      ...asked(`  How\n\tlong ${"is this ".repeat(40)}`),
      ...asked("Second.", 2),
    );
    expect(summary.title).toMatch(/^How long is this is this/);
    expect(summary.title).toHaveLength(80);
    expect(summary).toMatchObject({ status: "running", turns: 2, messages: 2 });
  });

  it("says whether the session is running, idle with how the last turn ended, closed", () => {
    const turn = [...asked("Go."), stepStarted(1), ...said("Done."), stepFinished(1)];
    expect(stateOf(...turn).summary).toMatchObject({
      status: "running",
      model: "turnlog:scripted",
    });
    expect(stateOf(...turn, turnEnded()).summary).toMatchObject({
      status: "idle",
      lastEnd: "stop",
      steps: 1,
    });
    const closed: EventBody = { type: "session.closed", data: {} };
    expect(stateOf(...turn, turnEnded(), closed).summary.status).toBe("closed");
  });
});

it("every projection has a name and a version, which snapshots are kept under", () => {
  expect(usage).toMatchObject({ name: "usage", version: expect.any(Number) as unknown });
  expect(usage.schema.parse(JSON.parse(JSON.stringify(usage.initial)))).toEqual(usage.initial);
});
