/** The contract of `EventLog.delete` and `deleted`. */

import assert from "node:assert/strict";
import type { EventLog, SessionEvent } from "../events/index.ts";
import {
  appendInTurn,
  fails,
  forked,
  numbered,
  numberedUpTo,
  stored,
  take,
  type Promised,
} from "./log-samples.ts";

async function namesOf(log: EventLog): Promise<readonly string[]> {
  return (await Array.fromAsync(log.list())).map(({ session }) => session);
}

const snapshot = { projection: "p", version: 1, position: 2, state: "kept" };

export const deleteContract: readonly Promised[] = [
  [
    "leaves nothing of a session, and everything else where it was",
    async (log) => {
      await appendInTurn(log, ["a", "s", "t"], 30);
      await log.append("s", 30, [numbered(31, "id"), numbered(32)]);
      await log.append("a", 30, [numbered(31)]);
      await log.saveSnapshot("s", snapshot);
      const before = await Array.fromAsync(log.readAll());
      const deleted = await log.delete("s");
      assert.deepEqual(
        { ...deleted, erased: true },
        { session: "s", revision: 32, forks: [], repeated: false, erased: true },
      );
      assert.deepEqual(await Array.fromAsync(log.read("s")), []);
      assert.equal(await log.revision("s"), 0);
      assert.equal(await log.loadSnapshot("s", "p"), undefined);
      assert.deepEqual(await namesOf(log), ["a", "t"]);
      const others = before.filter(({ session }) => session !== "s");
      assert.deepEqual(await Array.fromAsync(log.readAll()), others);
      assert.deepEqual(
        await Array.fromAsync(log.readAll({ from: 60 })),
        others.filter(({ position }) => position >= 60),
      );
      assert.deepEqual(await log.append("t", 30, [numbered(31)]), {
        revision: 31,
        position: before.length + 1,
        repeated: false,
      });
      assert.deepEqual(await Array.fromAsync(log.deleted()), [{ session: "s", revision: 32 }]);
    },
  ],
  [
    "reports who deleted a session, if that was given",
    async (log) => {
      await log.append("s", "none", [numbered(1)]);
      await log.append("t", "none", [numbered(1), numbered(2)]);
      const spent = { dollars: 0.5, of: [{ agent: "é", calls: 2 }] };
      await log.delete("s", { by: "ann", spent });
      await log.delete("t");
      await log.delete("t", { by: "bob" });
      for (const by of ["a\0b", "\ud800"])
        await fails("INVALID_INPUT", () => log.delete("t", { by }));
      assert.deepEqual(await Array.fromAsync(log.deleted()), [
        { session: "s", revision: 1, by: "ann", spent },
        { session: "t", revision: 2 },
      ]);
    },
  ],
  [
    "never uses the name of a deleted session again",
    async (log) => {
      await log.append("s", "none", [numbered(1, "once"), numbered(2)]);
      await log.append("t", "none", [numbered(1)]);
      const writer = {};
      await fails("REVISION_CONFLICT", () => log.append("s", 7, [numbered(1)], { writer }));
      await log.delete("s");
      await fails("SESSION_DELETED", () => log.append("s", "any", [numbered(1)], { writer }));
      for (const expected of ["any", "none", "exists", 0, 2] as const)
        await fails("SESSION_DELETED", () => log.append("s", expected, [numbered(1)]));
      await fails("SESSION_DELETED", () => log.append("s", "any", [numbered(1, "once")]));
      await fails("SESSION_DELETED", () => log.fork("s", [forked("t", 1)]));
      await fails("SESSION_DELETED", () => log.fork("f", [forked("s", 1)]));
      await fails("SESSION_DELETED", () => log.saveSnapshot("s", snapshot));
      await fails("SESSION_DELETED", () => log.subscribe("s")[Symbol.asyncIterator]().next());
      assert.equal((await log.delete("s")).repeated, true);
      assert.deepEqual(await namesOf(log), ["t"]);
    },
  ],
  [
    "deletes earlier appends together with a session, and refuses later ones",
    async (log) => {
      const before = numberedUpTo(20).map((event) => log.append("s", "any", [event]));
      const named = log.append("s", "any", [numbered(21, "id")]);
      const deleted = log.delete("s");
      const late = fails("SESSION_DELETED", () => log.append("s", "any", [numbered(22)]));
      const other = log.append("t", "any", [numbered(1)]);
      assert.equal((await Promise.all(before)).at(-1)?.revision, 20);
      assert.equal((await named).revision, 21);
      assert.equal((await deleted).revision, 21);
      await Promise.all([late, other]);
      assert.deepEqual(await namesOf(log), ["t"]);
    },
  ],
  [
    "refuses to delete a session that never existed",
    async (log) => {
      await log.append("s", "none", [numbered(1)]);
      await fails("SESSION_NOT_FOUND", () => log.delete("s-1"));
      await fails("INVALID_INPUT", () => log.delete("not a name"));
      await log.append("s-1", "none", [numbered(1)]);
      assert.deepEqual(await namesOf(log), ["s", "s-1"]);
    },
  ],
  [
    "tells the followers of a session that it was deleted, and lets others continue",
    async (log) => {
      await appendInTurn(log, ["s", "t"], 3);
      const events = log.subscribe("s")[Symbol.asyncIterator]();
      const others = log.subscribe("t", { from: 4 })[Symbol.asyncIterator]();
      for (let position = 1; position <= 3; position++)
        assert.equal((await take(events)).position, position);
      const failed = fails("SESSION_DELETED", () => events.next());
      const next = take(others);
      await log.delete("s");
      await failed;
      await log.append("t", 3, [numbered(4)]);
      assert.equal((await next).position, 4);
      await others.return?.();
    },
  ],
  [
    "refuses to delete a session whose events others share, and names those",
    async (log) => {
      await log.append("p", "none", numberedUpTo(4));
      await log.fork("f", [forked("p", 2)]);
      await log.fork("g", [forked("f", 3)]);
      const before = await Array.fromAsync(log.readAll());
      const error = await fails("SESSION_HAS_FORKS", () => log.delete("p"));
      assert.deepEqual(error.details["forks"], ["f"]);
      assert.deepEqual(await Array.fromAsync(log.readAll()), before);
      await log.append("p", 4, [numbered(5)]);
      await log.fork("h", [forked("p", 5)]);
      for (const session of ["g", "f", "h", "p"]) await log.delete(session);
      assert.deepEqual(await namesOf(log), []);
      assert.deepEqual(await Array.fromAsync(log.readAll()), []);
    },
  ],
  [
    "refuses a fork that is made while its session is deleted, or keeps that session",
    async (log) => {
      for (let turn = 0; turn < 8; turn++) {
        const [session, fork] = [`s-${turn}`, `f-${turn}`];
        await log.append(session, "none", numberedUpTo(3));
        const making = async (): Promise<unknown> => await log.fork(fork, [forked(session, 2)]);
        const deleting = async (): Promise<unknown> => await log.delete(session);
        const both = turn % 2 === 0 ? [making(), deleting()] : [deleting(), making()];
        const done = await Promise.allSettled(both);
        const made = done.filter(({ status }) => status === "fulfilled");
        assert.equal(made.length, 1);
        const names = await namesOf(log);
        assert.equal(names.includes(session), names.includes(fork));
        if (names.includes(fork)) assert.equal((await Array.fromAsync(log.read(fork))).length, 3);
      }
    },
  ],
  [
    "gives forks their own copy of the shared events on request",
    async (log) => {
      await log.append("r", "none", [numbered(1, "root"), ...numberedUpTo(5, 2)]);
      await log.fork("p", [forked("r", 4), numbered(50, "own"), ...numberedUpTo(300, 60)]);
      await log.saveSnapshot("p", { ...snapshot, position: 7 });
      // Of events that "early" does not share, at a position that it has too.
      await log.saveSnapshot("p", { ...snapshot, projection: "q", position: 8 });
      await log.fork("early", [forked("p", 7), numbered(70)]);
      await log.fork("late", [forked("p", 150)]);
      await log.fork("deep", [forked("early", 6), numbered(80)]);
      const forks = ["deep", "early", "late"];
      const events = new Map<string, SessionEvent[]>();
      for (const name of forks) events.set(name, await Array.fromAsync(log.read(name)));
      const order = await Array.fromAsync(log.readAll());
      const deleted = await log.delete("p", { forks: "copy" });
      assert.deepEqual(deleted.forks, ["early", "late"]);
      for (const name of forks) {
        assert.deepEqual(await Array.fromAsync(log.read(name)), events.get(name));
        assert.deepEqual(
          await Array.fromAsync(log.read(name, { backwards: true })),
          events.get(name)?.toReversed(),
        );
        const again = await log.append(name, "any", [numbered(50, "own")]);
        assert.deepEqual([again.repeated, again.revision], [true, 6]);
        assert.equal((await log.append(name, "any", [numbered(1, "root")])).repeated, true);
      }
      const rest = order.filter(({ session }) => session !== "p");
      assert.deepEqual(await Array.fromAsync(log.readAll()), rest);
      assert.equal((await log.loadSnapshot("early", "p"))?.position, 7);
      assert.equal(await log.loadSnapshot("early", "q"), undefined);
      assert.equal(await log.loadSnapshot("deep", "p"), undefined);
      const listed = await Array.fromAsync(log.list());
      assert.deepEqual(
        listed.map(({ session, forkedFrom }) => [session, forkedFrom?.session]),
        [
          ["deep", "early"],
          ["early", "r"],
          ["late", "r"],
          ["r", undefined],
        ],
      );
      await fails("SESSION_HAS_FORKS", () => log.delete("r"));
      await log.delete("r", { forks: "copy" });
      // Of the first event of its own, which "deep" still shares with "early".
      const times = (await Array.fromAsync(log.list())).map(({ createdAt }) => createdAt);
      assert.deepEqual(times, [2000, 1001, 1001]);
      for (const name of forks) {
        assert.deepEqual(await Array.fromAsync(log.read(name)), events.get(name));
        const { length } = events.get(name) ?? [];
        assert.equal((await log.append(name, "exists", [numbered(1)])).revision, length + 1);
      }
    },
  ],
  [
    "continues reading a fork, in both directions, while the shared events are deleted",
    async (log) => {
      await log.append("r", "none", numberedUpTo(600));
      await log.fork("p", [forked("r", 500), ...numberedUpTo(600, 1000)]);
      await log.fork("f", [forked("p", 1000), numbered(9000)]);
      const all = await Array.fromAsync(log.read("f"));
      const readers = await Promise.all(
        [log.read("f"), log.subscribe("f"), log.read("f", { backwards: true })].map(
          async (events) => {
            const iterator = events[Symbol.asyncIterator]();
            return { iterator, seen: [await take(iterator)] };
          },
        ),
      );
      await log.delete("p", { forks: "copy" });
      await log.delete("r", { forks: "copy" });
      for (const [index, { iterator, seen }] of readers.entries()) {
        while (seen.length < all.length) seen.push(await take(iterator));
        assert.deepEqual(seen, index === 2 ? all.toReversed() : all);
        await iterator.return?.();
      }
    },
  ],
  [
    "shows readers of a session that is being deleted a beginning of it, and never damage",
    async (log) => {
      await log.append("s", "none", numberedUpTo(3000));
      await log.append("t", "none", numberedUpTo(3000));
      const reading = log.read("s")[Symbol.asyncIterator]();
      const ordered = log.readAll()[Symbol.asyncIterator]();
      const first = await take(reading);
      assert.equal((await ordered.next()).done, false);
      await log.delete("s");
      assert.deepEqual(first, stored([numbered(1)])[0]);
      try {
        for (let position = 2, next = await reading.next(); next.done !== true; position++) {
          assert.equal(next.value.position, position);
          next = await reading.next();
        }
      } catch (error) {
        await fails("SESSION_DELETED", () => {
          throw error;
        });
      }
      let last = 0;
      for (let next = await ordered.next(); next.done !== true; next = await ordered.next())
        last = next.value.position;
      assert.equal(last, 6000);
    },
  ],
];
