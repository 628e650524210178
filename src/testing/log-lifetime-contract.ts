/** The contract of the list of sessions, of snapshots, and of `close`. */

import assert from "node:assert/strict";
import type { Snapshot } from "../events/index.ts";
import { fails, forked, numbered, numberedUpTo, type Promised } from "./log-samples.ts";

const snapshot: Snapshot = {
  projection: "history",
  version: 1,
  position: 2,
  state: { messages: [{ text: "é" }], n: null },
};

export const lifetimeContract: readonly Promised[] = [
  [
    "lists all sessions by name, with their last position and the times of their first and last event",
    async (log) => {
      assert.deepEqual(await Array.fromAsync(log.list()), []);
      await log.append("b", "any", numberedUpTo(3));
      await log.append("a.1", "any", [numbered(7)]);
      await log.append("a", "any", [numbered(5)]);
      await log.append("a", "any", [numbered(9)]);
      assert.deepEqual(await Array.fromAsync(log.list()), [
        { session: "a", revision: 2, createdAt: 1005, updatedAt: 1009 },
        { session: "a.1", revision: 1, createdAt: 1007, updatedAt: 1007 },
        { session: "b", revision: 3, createdAt: 1001, updatedAt: 1003 },
      ]);
    },
  ],
  [
    "lists the sessions that begin with a prefix",
    async (log) => {
      const names = ["x", "x-1", "x.y", "x/..", "x/a/b", "x=002f", "x:z", "xA", "xa", "y"];
      for (const name of names) await log.append(name, "none", [numbered(1)]);
      const listed = async (prefix: string): Promise<string[]> =>
        (await Array.fromAsync(log.list({ prefix }))).map(({ session }) => session).toSorted();
      assert.deepEqual(await listed("x"), names.filter((name) => name.startsWith("x")).toSorted());
      assert.deepEqual(await listed("x-"), ["x-1"]);
      assert.deepEqual(await listed("x/"), ["x/..", "x/a/b"]);
      for (const none of ["z", "x\0", "\0", "\ud800", "é"])
        assert.deepEqual(await listed(none), []);
    },
  ],
  [
    "reports which sessions were appended to, forked and deleted, if it reports that at all",
    async (log) => {
      const told: string[] = [];
      const following = log.onChange?.((session) => told.push(session));
      if (following === undefined) return;
      await log.append("a", "none", [numbered(1), numbered(2)]);
      assert.deepEqual(told, ["a"]);
      await log.fork("f", [forked("a", 1)]);
      await fails("REVISION_CONFLICT", () => log.append("a", "none", [numbered(1)]));
      await log.delete("f");
      assert.deepEqual(told, ["a", "f", "f"]);
      following[Symbol.dispose]();
      await log.append("a", "any", [numbered(3)]);
      assert.equal(told.length, 3);
    },
  ],
  [
    "keeps the newest snapshot of each projection of each session",
    async (log) => {
      await log.append("s", "none", numberedUpTo(3));
      await log.append("t", "none", numberedUpTo(3));
      assert.equal(await log.loadSnapshot("s", "history"), undefined);
      await log.saveSnapshot("s", snapshot);
      assert.deepEqual(await log.loadSnapshot("s", "history"), snapshot);
      assert.equal(await log.loadSnapshot("s", "usage"), undefined);
      assert.equal(await log.loadSnapshot("t", "history"), undefined);
      const newer = { ...snapshot, version: 2, position: 3, state: [] };
      await log.saveSnapshot("s", newer);
      await log.saveSnapshot("s", { ...snapshot, projection: "usage", state: 0 });
      assert.deepEqual(await log.loadSnapshot("s", "history"), newer);
      assert.equal((await log.loadSnapshot("s", "usage"))?.state, 0);
      const odd = { ...snapshot, position: Number.NaN };
      await fails("INVALID_INPUT", () => log.saveSnapshot("s", odd));
      if (log.loadSnapshots === undefined) return;
      const loaded = await log.loadSnapshots(["none", "s", "t"], "history");
      assert.deepEqual(loaded, [undefined, newer, undefined]);
      await log.delete("s");
      assert.deepEqual(await log.loadSnapshots(["s"], "history"), [undefined]);
    },
  ],
  [
    "keeps the latest snapshot over all sessions, and never an earlier one",
    async (log) => {
      const at = (position: number, state: string): Snapshot => ({ ...snapshot, position, state });
      assert.equal(await log.loadSnapshot("", "history"), undefined);
      await log.saveSnapshot("", at(7, "first"));
      await Promise.all([log.saveSnapshot("", at(9, "é")), log.saveSnapshot("", at(8, "late"))]);
      assert.deepEqual(await log.loadSnapshot("", "history"), at(9, "é"));
      await log.saveSnapshot("", at(9, "again"));
      assert.deepEqual(await log.loadSnapshot("", "history"), at(9, "again"));
      assert.equal(await log.loadSnapshot("", "usage"), undefined);
      assert.deepEqual(await Array.fromAsync(log.list()), []);
    },
  ],
  [
    "keeps the last position of each consumer, if it keeps any",
    async ({ cursors }) => {
      if (cursors === undefined) return;
      assert.equal(await cursors.load("a"), undefined);
      await Promise.all([cursors.save("a", 1), cursors.save("a", 7), cursors.save("a/b é", 3)]);
      assert.equal(await cursors.load("a"), 7);
      assert.equal(await cursors.load("a/b é"), 3);
      assert.equal(await cursors.load("b"), undefined);
      await fails("INVALID_INPUT", () => cursors.save("a", -1));
    },
  ],
  [
    "writes all earlier appends before it closes, and refuses everything after that",
    async (log) => {
      const appends = numberedUpTo(50).map((event) => log.append("s", "any", [event]));
      const named = log.append("t", "any", [numbered(1, "id")]);
      const closed = log.close();
      const late = fails("LOG_CLOSED", () => log.append("s", "any", [numbered(1)]));
      assert.equal((await Promise.all(appends)).at(-1)?.revision, 50);
      assert.equal((await named).revision, 1);
      await Promise.all([closed, late, log.close()]);
      await fails("LOG_CLOSED", () => Array.fromAsync(log.read("s")));
      await fails("LOG_CLOSED", () => log.readAt("s", [1]));
      await fails("LOG_CLOSED", () => Array.fromAsync(log.readAll()));
      await fails("LOG_CLOSED", () => Array.fromAsync(log.list()));
      await fails("LOG_CLOSED", () => log.revision("s"));
      await fails("LOG_CLOSED", () => log.loadSnapshot("s", "p"));
      await fails("LOG_CLOSED", () => log.saveSnapshot("s", snapshot));
      await fails("LOG_CLOSED", () => log.subscribe("s")[Symbol.asyncIterator]().next());
    },
  ],
  [
    "closes at the end of an `await using` block",
    async (log) => {
      {
        await using own = log;
        await own.append("s", "none", [numbered(1)]);
      }
      await fails("LOG_CLOSED", () => log.revision("s"));
    },
  ],
];
