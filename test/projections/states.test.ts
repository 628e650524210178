/** States are what snapshots keep: plain JSON that is read back as it was, after any events at all. */

// Not vitest's own comparison, which takes a key named "constructor" for a constructor.
import { deepStrictEqual } from "node:assert/strict";
import { hash } from "node:crypto";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import type { SessionEvent } from "../../src/events/index.ts";
import { appendedAt, sessionProjections, type Projection } from "../../src/projections/index.ts";
import { anyEvents } from "../laws/any-event.ts";
import { runs } from "../support/runs.ts";

function keeps(projection: Projection<object>, events: readonly SessionEvent[]): void {
  const state = events.reduce(
    (before, event) => projection.fold(before, event),
    projection.initial,
  );
  deepStrictEqual(projection.schema.parse(JSON.parse(JSON.stringify(state))), state);
}

it("each state is plain JSON, and its schema reads it back as it was", () => {
  fc.assert(
    fc.property(anyEvents, (events) => {
      for (const projection of Object.values(sessionProjections)) keeps(projection, events);
    }),
    runs(100),
  );
});

/** What a schema takes, as plain data: the same text for the same form. */
function formOf(value: unknown, above: readonly unknown[] = []): unknown {
  if (above.includes(value)) return above.indexOf(value);
  const within = [...above, value];
  if (value instanceof RegExp) return String(value);
  if (Array.isArray(value)) return value.map((one) => formOf(one, within));
  if (typeof value !== "object" || value === null) return typeof value === "function" ? "" : value;
  if (value instanceof z.ZodLazy) return formOf(value.unwrap(), within);
  // Schemas and their checks.
  const { def = value } = Object(Reflect.get(value, "_zod") ?? {}) as { readonly def?: object };
  return Object.entries(def).map(([key, one]) => [key, formOf(one, within)]);
}

it("a state of another form has another version: stored states are read without their schemas", () => {
  const forms = Object.values(sessionProjections).map(
    ({ name, version, schema }) =>
      [`${name}@${version}`, hash("sha256", JSON.stringify(formOf(schema))).slice(0, 12)] as const,
  );
  // Where a line differs, raise the version in the projection, and write the new line. With another release of zod
  // that describes its schemas otherwise, all lines differ.
  expect(Object.fromEntries(forms)).toEqual({
    "appended@1": "3d723deb4658",
    "approvals@2": "08ffc20d850c",
    "blobs@1": "f59e81129d84",
    "branches@1": "2bb3fd6bf0b8",
    "calibration@2": "7e2a36c08557",
    "compactions@4": "a64e239bcde9",
    "context-view@10": "c1c77db443d0",
    "history@8": "c4f26331bd70",
    "learned-limits@1": "57270abb46b6",
    "prompt-counts@1": "9bee5605345f",
    "queue@5": "9e649a811629",
    "session-summary@11": "bdf3d58a0f1b",
    "standing@1": "448b87fc430c",
    "tool-calls@4": "984d31cc900d",
    "usage@5": "f570f34058f2",
  });
});

it("a session without events has shown, spent, asked and tried nothing", () => {
  const { view, usage, compactions, approvals, blobs, learnedLimits } = sessionProjections;
  const lists = { compactions: [], prunings: [], cuts: [], omissions: [], bindings: [] };
  expect(view.initial).toStrictEqual({ ...lists, changed: 0 });
  expect(usage.initial).toMatchObject({ steps: [], beside: [], turn: 0 });
  expect(usage.initial.total).toMatchObject({ basis: "measured", inputTokens: 0, outputTokens: 0 });
  expect(compactions.initial).toStrictEqual({
    attempts: 0,
    overflows: 0,
    isGuess: false,
    turns: 0,
  });
  expect(approvals.initial).toStrictEqual({ always: {}, asked: {}, lineage: [] });
  expect(blobs.initial).toStrictEqual({ stored: {}, bytes: 0 });
  expect(learnedLimits.initial).toStrictEqual({ windows: {}, largest: {} });
});

it("an id of an event is found at its position, and the newest event of a program is known", () => {
  const { appended } = sessionProjections;
  const { initial } = appended;
  const own = { type: "app.noted", data: { note: 1 } } as const;
  const closed = { type: "session.closed", data: {} } as const;
  const states = [
    { position: 1, time: 0, ...closed },
    { position: 2, time: 0, id: "a", ...own },
    { position: 3, time: 0, ...own },
    { position: 4, time: 0, id: "b", ...closed },
  ].reduce(
    (before, event) => [...before, appended.fold(before.at(-1) ?? initial, event)],
    [initial],
  );
  expect(states[1]).toBe(initial);
  expect(states.map(({ newest }) => newest)).toEqual([0, 0, 2, 3, 3]);
  const last = states.at(-1) ?? initial;
  expect(["a", "b", "c"].map((id) => appendedAt(last, id))).toEqual([2, 4, undefined]);
});
