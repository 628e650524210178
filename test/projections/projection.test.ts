/** A projection from its definition: it folds the events that it names, and those of a program come parsed. */

import { expect, it } from "vitest";
import { z } from "zod";
import { defineEvents, type SessionEvent } from "../../src/events/index.ts";
import { defineProjection } from "../../src/projections/index.ts";

const events = defineEvents({
  "app.paid": z.object({ euros: z.number(), tip: z.number().default(1) }),
});
const base = {
  name: "sums",
  version: 1,
  follows: "log",
  schema: z.object({ sum: z.number() }),
} as const;

const event = (type: string, data: object): SessionEvent =>
  ({ position: 1, time: 0, type, data }) as SessionEvent;

const sums = defineProjection<{ readonly sum: number }, typeof events.schemas>({
  ...base,
  initial: { sum: 0 },
  events,
  on: {
    "turn.ended": ({ sum }) => ({ sum: sum + 100 }),
    "app.paid": ({ sum }, { data }) => ({ sum: sum + data.euros + data.tip }),
  },
});

it("has the name, the version and the schema of its definition, and an initial state that nobody changes", () => {
  expect(sums).toMatchObject({ ...base, initial: { sum: 0 } });
  expect(Object.isFrozen(sums.initial)).toBe(true);
});

it("folds its events, those of the program as their schema gives them, and no others", () => {
  const { initial } = sums;
  expect(sums.fold(initial, event("turn.ended", { turn: 1, reason: "stop" }))).toEqual({
    sum: 100,
  });
  expect(sums.fold(initial, event("app.paid", { euros: 5 }))).toEqual({ sum: 6 });
  expect(sums.fold(initial, event("turn.started", { turn: 1, maxSteps: 9 }))).toBe(initial);
  expect(sums.fold(initial, event("app.other", {}))).toBe(initial);
  expect(() => sums.fold(initial, event("app.paid", { euros: "5" }))).toThrow(
    expect.objectContaining({ code: "EVENT_INVALID" }),
  );
  // What was redacted means nothing any more.
  expect(sums.fold(initial, event("app.paid", { redacted: true }))).toBe(initial);
});

it("cannot be over an event that there is not", () => {
  const named = (type: string): unknown =>
    defineProjection({ ...base, initial: { sum: 0 }, on: { [type]: (state: object) => state } });
  expect(() => named("turn.end")).toThrow(
    expect.objectContaining({ code: "INVALID_INPUT", details: { option: "on.turn.end" } }),
  );
  expect(() => named("app.paid")).toThrow(/app\.paid/);
  expect(() => named("unknown")).not.toThrow();
  expect(() => named("turn.ended")).not.toThrow();
});
