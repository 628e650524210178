/** The contract of `EventLog.append`, and of events with an id. */

import assert from "node:assert/strict";
import type { JsonValue, NewEvent } from "../events/index.ts";
import {
  appendInTurn,
  fails,
  numbered,
  numberedUpTo,
  positionsOf,
  stored,
  type Promised,
} from "./log-samples.ts";

const step = { step: 1, callId: "c" };

/** Values that every log refuses, with a description. */
const notEvents: readonly (readonly [what: string, event: unknown])[] = [
  ["no object", 5],
  ["nothing", null],
  ["no time", { type: "part.text-delta", data: { id: "0", text: "" } }],
  ["a time that is not a number", { ...numbered(1), time: Number.NaN }],
  ["a time without an end", { ...numbered(1), time: Infinity }],
  ["an id that is not a text", { ...numbered(1), id: 5 }],
  ["a field that no event has", { ...numbered(1), session: "t" }],
  ["no data", { type: "part.text-delta", time: 1 }],
  ["a type that nobody knows", { type: "turn.begun", time: 1, data: {} }],
  ["a type of every object", { type: "constructor", time: 1, data: {} }],
  ["data of another type", { ...numbered(1), data: { turn: 1, maxSteps: 1 } }],
  ["data that are not JSON", { type: "part.raw", time: 1, data: { rawValue: 1n } }],
  ["data that JSON leaves out", { type: "part.raw", time: 1, data: { rawValue: () => 1 } }],
  [
    "numbers that JSON does not have",
    { type: "turn.started", time: 1, data: { turn: 1, maxSteps: Infinity } },
  ],
  [
    "an answer of an unknown kind",
    {
      type: "tool.succeeded",
      time: 1,
      data: { ...step, output: 1, modelOutput: { type: "smell" } },
    },
  ],
  [
    "an answer that no prompt can contain",
    {
      type: "tool.succeeded",
      time: 1,
      data: { ...step, output: 1, modelOutput: { type: "text" } },
    },
  ],
  [
    "data that throw when they are read",
    {
      type: "part.raw",
      time: 1,
      data: {
        get rawValue() {
          throw new Error("no");
        },
      },
    },
  ],
];

export const appendContract: readonly Promised[] = [
  [
    "numbers the events of a session from 1 without a gap, and returns their positions",
    async (log) => {
      assert.deepEqual(await log.append("s", "none", numberedUpTo(3)), {
        revision: 3,
        position: 3,
        repeated: false,
      });
      assert.deepEqual(await log.append("t", "none", [numbered(1)]), {
        revision: 1,
        position: 4,
        repeated: false,
      });
      assert.deepEqual(await log.append("s", 3, [numbered(4)]), {
        revision: 4,
        position: 5,
        repeated: false,
      });
      assert.deepEqual(await Array.fromAsync(log.read("s")), stored(numberedUpTo(4)));
      assert.equal(await log.revision("s"), 4);
    },
  ],
  [
    "keeps the order of calls that do not wait for each other, and gives each event a global position",
    async (log) => {
      const sessions = Array.from({ length: 600 }, (_, index) => (index % 3 === 0 ? "s" : "t"));
      const appended = await Promise.all(
        sessions.map((session, index) => log.append(session, "any", [numbered(index)])),
      );
      const positions = appended.map(({ position }) => position);
      assert.deepEqual(
        positions.toSorted((one, other) => one - other),
        positions.map((_, index) => index + 1),
      );
      for (const session of ["s", "t"]) {
        const own = appended.filter((_, index) => sessions[index] === session);
        assert.deepEqual(
          own.map(({ revision }) => revision),
          own.map((_, index) => index + 1),
        );
        assert.deepEqual(
          own,
          own.toSorted((one, other) => one.position - other.position),
        );
        const calls = (await Array.fromAsync(log.read(session))).map(({ time: at }) => at - 1000);
        assert.deepEqual(
          calls,
          [...sessions.keys()].filter((index) => sessions[index] === session),
        );
      }
    },
  ],
  [
    "checks the expected revision against everything appended before, written or not",
    async (log) => {
      await log.append("s", "none", numberedUpTo(2));
      const queued = log.append("s", 2, numberedUpTo(2));
      const conflict = fails("REVISION_CONFLICT", () => log.append("s", 2, [numbered(1)]));
      const behind = log.append("s", 4, [numbered(5)]);
      assert.equal((await queued).revision, 4);
      const error = await conflict;
      assert.equal(error.session, "s");
      assert.equal(error.position, 4);
      assert.equal((await behind).revision, 5);
    },
  ],
  [
    "refuses a writer's appends after one of them was refused, even if they would fit by then",
    async (log) => {
      await log.append("s", "none", numberedUpTo(2));
      const [writer, other] = [{}, {}];
      const before = log.append("s", 2, [numbered(3)], { writer: other });
      const refused = fails("REVISION_CONFLICT", () =>
        log.append("s", 2, [numbered(9)], { writer }),
      );
      const behind = fails("REVISION_CONFLICT", () =>
        log.append("s", 3, [numbered(9)], { writer }),
      );
      await Promise.all([before, refused, behind]);
      await fails("REVISION_CONFLICT", () => log.append("s", 3, [numbered(9)], { writer }));
      assert.equal((await log.append("s", 3, [numbered(4)], { writer: other })).revision, 4);
      assert.equal((await log.append("t", "none", [numbered(1)], { writer })).revision, 1);
      assert.equal((await log.append("s", 4, [numbered(5)], { writer: {} })).revision, 5);
    },
  ],
  [
    "accepts `any` for every session, `none` only for new ones and `exists` only for existing ones",
    async (log) => {
      await fails("REVISION_CONFLICT", () => log.append("s", "exists", [numbered(1)]));
      await fails("REVISION_CONFLICT", () => log.append("s", 1, [numbered(1)]));
      assert.equal((await log.append("s", 0, [numbered(1)])).revision, 1);
      await fails("REVISION_CONFLICT", () => log.append("s", "none", [numbered(1)]));
      assert.equal((await log.append("s", "exists", [numbered(1)])).revision, 2);
      assert.equal((await log.append("s", "any", [numbered(1)])).revision, 3);
      assert.equal((await log.append("t", "any", [numbered(1)])).revision, 1);
    },
  ],
  [
    "lets exactly one of two writers win that expect the same revision",
    async (log) => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) => log.append("s", "none", [numbered(index)])),
      );
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ["fulfilled", ...Array.from({ length: 9 }, () => "rejected")],
      );
      assert.deepEqual(await positionsOf(log.read("s")), [1]);
    },
  ],
  [
    "writes all events of an append or none, and is not disturbed by one that it refuses",
    async (log) => {
      const before = log.append("s", "any", [numbered(1)]);
      const circle: Record<string, JsonValue> = {};
      circle["self"] = circle;
      const refused = fails("EVENT_INVALID", () =>
        log.append("s", "any", [
          numbered(2),
          { type: "unknown", time: 1, data: { type: "x", version: 1, data: circle } },
        ]),
      );
      const behind = log.append("s", "any", [numbered(3)]);
      await Promise.all([before, refused, behind]);
      const texts = (await Array.fromAsync(log.read("s"))).map(({ time: at }) => at - 1000);
      assert.deepEqual(texts, [1, 3]);
    },
  ],
  [
    "refuses values that are not events or could not be read again, and writes nothing of that append",
    async (log) => {
      await log.append("s", "none", [numbered(1)]);
      for (const [what, event] of notEvents) {
        const appended = (): unknown =>
          // As untyped JavaScript may do.
          Reflect.apply(log.append.bind(log), log, ["s", "any", [numbered(2), event]]);
        const error = await fails("EVENT_INVALID", appended);
        assert.equal(error.session, "s", what);
        assert.equal(error.position, 3, what);
        assert.equal(await log.revision("s"), 1, what);
      }
      assert.equal((await log.append("s", 1, [numbered(2)])).revision, 2);
      assert.deepEqual(await Array.fromAsync(log.read("s")), stored(numberedUpTo(2)));
    },
  ],
  [
    "accepts a valid event of an unknown type, but only in a copy",
    async (log) => {
      const later = (data: object): NewEvent[] => [
        numbered(2),
        // As untyped JavaScript may do.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        { type: "unknown", time: 1, data } as NewEvent,
      ];
      const known = { type: "later.happened", version: 3, data: { any: "thing" } };
      await fails("EVENT_INVALID", () => log.append("s", "any", later(known)));
      const copied = { origin: "copied" } as const;
      for (const data of [
        { ...known, type: "turn.started" },
        { ...known, version: 0 },
        { ...known, more: 1 },
        { type: "later.happened", version: 1 },
      ])
        await fails("EVENT_INVALID", () => log.append("s", "any", later(data), copied));
      assert.equal(await log.revision("s"), 0);
      await log.append("s", "none", later(known), copied);
      assert.deepEqual(await Array.fromAsync(log.read("s")), stored(later(known)));
    },
  ],
  [
    "refuses names that no session can have, and an append of nothing",
    async (log) => {
      for (const name of ["", "../x", "a\nb", "-a", "a b", "x".repeat(513)]) {
        await fails("INVALID_INPUT", () => log.append(name, "any", [numbered(1)]));
      }
      await fails("INVALID_INPUT", () => log.append("s", "any", []));
      assert.deepEqual(await Array.fromAsync(log.list()), []);
    },
  ],
  [
    "numbers many sessions at once, each without a gap",
    async (log) => {
      const sessions = Array.from({ length: 64 }, (_, index) => `s-${index}`);
      await appendInTurn(log, sessions, 20);
      for (const session of sessions) {
        assert.deepEqual(await Array.fromAsync(log.read(session)), stored(numberedUpTo(20)));
      }
    },
  ],
];

// The contract of events with an id.

export const idempotencyContract: readonly Promised[] = [
  [
    "writes events with the same ids once, however often they are appended, and returns the same",
    async (log) => {
      await log.append("s", "none", [numbered(1)]);
      const events = [numbered(2, "a"), numbered(3), numbered(4, "b")];
      const first = await log.append("s", 1, events);
      await log.append("t", "any", [numbered(1)]);
      for (const expected of [1, "any", "none"] as const) {
        const again = await log.append("s", expected, events);
        assert.equal(again.repeated, true);
        assert.equal(again.revision, first.revision);
        assert.equal(again.position, first.position);
      }
      assert.deepEqual(await positionsOf(log.read("s")), [1, 2, 3, 4]);
    },
  ],
  [
    "recognizes an append that is not written yet, and confirms it only once it is",
    async (log) => {
      const attempts = await Promise.all(
        Array.from({ length: 5 }, () => log.append("s", "none", [numbered(1, "a")])),
      );
      assert.deepEqual(
        attempts.map(({ revision, position }) => [revision, position]),
        attempts.map(() => [1, 1]),
      );
      assert.deepEqual(
        attempts.map(({ repeated }) => repeated),
        [false, true, true, true, true],
      );
      assert.deepEqual(await positionsOf(log.read("s")), [1]);
    },
  ],
  [
    "refuses an append of which only some events are there, and writes none of it",
    async (log) => {
      await log.append("s", "none", [numbered(1, "a")]);
      const error = await fails("EVENT_ID_CONFLICT", () =>
        log.append("s", "any", [numbered(1, "a"), numbered(2, "b")]),
      );
      assert.equal(error.session, "s");
      assert.deepEqual(await positionsOf(log.read("s")), [1]);
      assert.equal((await log.append("s", 1, [numbered(2, "b")])).repeated, false);
    },
  ],
  [
    "refuses one id for two events of an append",
    async (log) => {
      await fails("EVENT_ID_CONFLICT", () =>
        log.append("s", "any", [numbered(1, "a"), numbered(2, "a")]),
      );
      assert.equal(await log.revision("s"), 0);
    },
  ],
  [
    "keeps the ids of each session apart, whatever characters they have",
    async (log) => {
      for (const id of ["a", "a/b", "s/a", "é", "", "\u0000", "x".repeat(500)]) {
        assert.equal((await log.append("s", "any", [numbered(1, id)])).repeated, false);
        assert.equal((await log.append("s-2", "any", [numbered(1, id)])).repeated, false);
        assert.equal((await log.append("s", "any", [numbered(1, id)])).repeated, true);
      }
      const [event] = await Array.fromAsync(log.read("s", { from: 5, limit: 1 }));
      assert.equal(event?.id, "");
    },
  ],
  [
    "keeps the order of calls where some events carry an id and some do not",
    async (log) => {
      // The session is in use: nothing else delays its appends.
      await log.append("s", "none", [numbered(0)]);
      const appends = Array.from({ length: 100 }, (_, index) =>
        log.append("s", "any", [
          index % 4 === 0 ? numbered(index, `id-${index}`) : numbered(index),
        ]),
      );
      await Promise.all(appends);
      const order = (await Array.fromAsync(log.read("s", { from: 2 }))).map(
        ({ time: at }) => at - 1000,
      );
      assert.deepEqual(
        order,
        Array.from({ length: 100 }, (_, index) => index),
      );
    },
  ],
  [
    "does not count an id as used if its append was refused",
    async (log) => {
      await fails("REVISION_CONFLICT", () => log.append("s", 9, [numbered(1, "a")]));
      assert.equal((await log.append("s", 0, [numbered(1, "a")])).repeated, false);
    },
  ],
];
