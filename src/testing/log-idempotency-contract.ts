/** The contract of events with an id. */

import assert from "node:assert/strict";
import { fails, numbered, positionsOf, type Promised } from "./log-samples.ts";

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
