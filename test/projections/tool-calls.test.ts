/** The calls to our own tools: open until they end, with what is known of their runs. */

import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import type { ToolCallsState } from "../../src/projections/tool-calls.ts";
import { asked, called, stateOf, stepStarted } from "./session-of.ts";

const head: readonly EventBody[] = [...asked("Go."), stepStarted(1), called("a"), called("b")];
/** Of the first event behind the head. */
const time = head.length * 1000;

const after = (...bodies: readonly EventBody[]): ToolCallsState =>
  stateOf(...head, ...bodies).toolCalls;

const waiting = (callId: string, step = 1) =>
  ({ step, callId, toolName: "work", status: "waiting", attempts: 0 }) as const;

const key = { step: 1, callId: "a" };
const started = (attempt: number, more: object = {}): EventBody => ({
  type: "tool.started",
  data: { ...key, toolName: "work", attempt, effectId: `e${attempt}`, ...more },
});
const forked: EventBody = {
  type: "session.forked",
  data: { from: { session: "first", position: 1 } },
};

it("wait, run and are asked about, each by itself", () => {
  expect(after()).toStrictEqual({ step: 1, open: [waiting("a"), waiting("b")], ended: [] });
  const running = { attempts: 1, effectId: "e1", startedAt: time };
  expect(after(started(1))).toStrictEqual({
    step: 1,
    open: [{ ...waiting("a"), ...running, status: "running" }, waiting("b")],
    ended: [],
  });
  expect(after(started(1, { child: "below" })).open[0]).toStrictEqual({
    ...waiting("a"),
    ...running,
    status: "running",
    child: "below",
  });
  const asks: EventBody = { type: "tool.approval-requested", data: { ...key, toolName: "work" } };
  expect(after(asks).open[0]).toStrictEqual({ ...waiting("a"), status: "awaiting-approval" });
});

it("began when they were started first, however often they were started", () => {
  expect(after(started(1), started(2)).open[0]).toMatchObject({
    attempts: 2,
    effectId: "e2",
    startedAt: time,
  });
});

it("have ended with each of their ends, at its time, once", () => {
  const error = { name: "Error", message: "" };
  const ends: readonly (readonly [EventBody, string])[] = [
    [{ type: "tool.succeeded", data: { ...key, output: 1 } }, "succeeded"],
    [{ type: "tool.failed", data: { ...key, error } }, "failed"],
    [{ type: "tool.denied", data: key }, "denied"],
    [{ type: "tool.skipped", data: { ...key, reason: "cancelled" } }, "skipped"],
    [{ type: "tool.unknown", data: { ...key, reason: "recovered" } }, "unknown"],
  ];
  for (const [end, status] of ends) {
    const ended = [{ ...waiting("a"), status, endedAt: time }];
    expect(after(end)).toStrictEqual({ step: 1, open: [waiting("b")], ended });
    expect(after(end, end)).toStrictEqual(after(end));
  }
  const other: EventBody = { type: "tool.succeeded", data: { step: 1, callId: "b", output: 1 } };
  expect(after(other, started(1)).ended).toHaveLength(1);
  expect(
    after(other, { type: "tool.denied", data: key }).ended.map(({ callId }) => callId),
  ).toEqual(["b", "a"]);
});

it("are known by their step as well: an id may come again in the next one", () => {
  const next = after(stepStarted(2), called("a"));
  expect(next.open).toStrictEqual([waiting("a"), waiting("b"), waiting("a", 2)]);
  const end: EventBody = { type: "tool.denied", data: { step: 2, callId: "a" } };
  expect(after(stepStarted(2), called("a"), end).open).toStrictEqual([waiting("a"), waiting("b")]);
  const unknown: EventBody = { type: "tool.denied", data: { step: 2, callId: "b" } };
  expect(after(unknown)).toStrictEqual(after());
});

it("name, in a fork, the session in which the model made them, also in a fork of a fork", () => {
  const own = after(forked, called("c"));
  expect(own.open).toStrictEqual([
    { origin: "first", ...waiting("a") },
    { origin: "first", ...waiting("b") },
    waiting("c"),
  ]);
  const again: EventBody = {
    type: "session.forked",
    data: { from: { session: "second", position: 9 } },
  };
  expect(after(forked, called("c"), again).open.map(({ origin }) => origin)).toEqual([
    "first",
    "first",
    "second",
  ]);
});
