/** What a view has, and how the stored states of many sessions are read together. */

import { expect, it } from "vitest";
import { viewOf, withSnapshots } from "../../src/state/view.ts";
import {
  asked,
  called,
  said,
  stateOf,
  stepFinished,
  stepStarted,
} from "../projections/session-of.ts";

it("a view has the whole history with the step that runs, and is one and the same for one state", () => {
  const log = [...asked("Go."), stepStarted(1), ...said("Yes.")] as const;
  for (const state of [stateOf(...log), stateOf(...log, stepFinished(1))]) {
    const view = viewOf("s", state);
    expect(view.history).toMatchObject([{ kind: "user" }, { kind: "step", step: 1 }]);
    expect(viewOf("s", state)).toBe(view);
    expect(viewOf("other", state)).toMatchObject({ session: "other", history: view.history });
  }
});

it("a call has its input, why it failed or was denied, and what people were asked about it", () => {
  const denied = { step: 1, callId: "b" };
  const state = stateOf(
    ...asked("Go."),
    stepStarted(1),
    called("a"),
    called("b"),
    called("c"),
    stepFinished(1, "tool-calls"),
    {
      type: "tool.failed",
      data: { step: 1, callId: "a", error: { name: "Error", message: "It broke." } },
    },
    { type: "tool.approval-requested", data: { ...denied, toolName: "work" } },
    { type: "tool.approval-answered", data: { ...denied, approved: false, reason: "Too dear." } },
    { type: "tool.denied", data: { ...denied, reason: "Too dear." } },
  );
  const { toolCalls } = viewOf("s", state);
  const [a, b, c] = ["a", "b", "c"].map((id) => toolCalls.find(({ callId }) => callId === id));
  expect(a).toMatchObject({ input: { input: 1 }, status: "failed", reason: "It broke." });
  expect(a).not.toHaveProperty("approvals");
  expect(b).toMatchObject({ reason: "Too dear.", approvals: [{ answer: { approved: false } }] });
  expect(c).toMatchObject({ input: { input: 1 } });
  for (const absent of ["reason", "approvals"]) expect(c).not.toHaveProperty(absent);
});

it("stored states are read by look-ups of 256, each with its session, before the names of further sessions are", async () => {
  const asked: number[] = [];
  let named = 0;
  const sessions = function* (): Generator<{ session: string }> {
    for (; named < 600; named++) yield { session: `s${named}` };
  };
  const log = {
    loadSnapshots: async (names: readonly string[], projection: string) => {
      asked.push(names.length);
      return names.map((name) => ({ projection, version: 1, position: 1, state: name }));
    },
  };
  const found: string[] = [];
  const namedBefore: number[] = [];
  for await (const [{ session }, stored] of withSnapshots(log, sessions(), "p")) {
    namedBefore.push(named);
    found.push(session);
    expect(stored?.state).toBe(session);
  }
  expect(found).toEqual(Array.from({ length: 600 }, (_, index) => `s${index}`));
  expect(namedBefore[0]).toBeLessThan(300);
  expect(asked).toEqual([256, 256, 88]);
});
