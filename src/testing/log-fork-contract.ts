/** The contract of `EventLog.fork`: sessions that share the events of another one up to a position. */

import assert from "node:assert/strict";
import type { SessionEvent } from "../events/index.ts";
import {
  fails,
  forked,
  numbered,
  numberedUpTo,
  positionsOf,
  stored,
  take,
  type Promised,
} from "./log-samples.ts";

export const forkContract: readonly Promised[] = [
  [
    "gives a fork the other session's events up to a position, and its own behind it",
    async (log) => {
      await log.append("p", "none", numberedUpTo(5));
      const own = [forked("p", 3), numbered(40)] as const;
      const made = await log.fork("f", own);
      assert.deepEqual(made, { revision: 5, position: 7, repeated: false });
      assert.deepEqual(await log.append("f", 5, [numbered(50)]), {
        revision: 6,
        position: 8,
        repeated: false,
      });
      assert.deepEqual(
        await Array.fromAsync(log.read("f")),
        stored([...numberedUpTo(3), ...own, numbered(50)]),
      );
      assert.equal(await log.revision("f"), 6);
    },
  ],
  [
    "keeps a fork and the session that it branches off apart from then on",
    async (log) => {
      await log.append("p", "none", numberedUpTo(3));
      await log.fork("f", [forked("p", 3)]);
      await Promise.all([
        log.append("p", 3, [numbered(4), numbered(5)]),
        log.append("f", 4, [numbered(90)]),
      ]);
      const shared = numberedUpTo(3);
      assert.deepEqual(await Array.fromAsync(log.read("p")), stored(numberedUpTo(5)));
      assert.deepEqual(
        await Array.fromAsync(log.read("f")),
        stored([...shared, forked("p", 3), numbered(90)]),
      );
      await fails("REVISION_CONFLICT", () => log.append("f", 3, [numbered(1)]));
      await fails("REVISION_CONFLICT", () => log.append("f", "none", [numbered(1)]));
    },
  ],
  [
    "reads every range of a fork of a fork, in either direction",
    async (log) => {
      await log.append("a", "none", numberedUpTo(6));
      await log.fork("b", [forked("a", 4), ...numberedUpTo(2, 20)]);
      await log.fork("c", [forked("b", 6), ...numberedUpTo(2, 30)]);
      await log.fork("d", [forked("c", 2)]);
      await log.append("d", "exists", numberedUpTo(2, 40));
      const b = [...numberedUpTo(4), forked("a", 4), ...numberedUpTo(2, 20)];
      const c = [...b.slice(0, 6), forked("b", 6), ...numberedUpTo(2, 30)];
      const d = [...c.slice(0, 2), forked("c", 2), ...numberedUpTo(2, 40)];
      for (const [session, events] of Object.entries({ b, c, d })) {
        const all = stored(events);
        assert.equal(await log.revision(session), all.length);
        const backwards = all.toReversed();
        const positions = backwards.map(({ position }) => position);
        assert.deepEqual(await log.readAt(session, positions), backwards);
        for (let from = 1; from <= all.length; from++) {
          for (let to = from - 1; to <= all.length + 1; to++) {
            const span = all.slice(from - 1, Math.max(to, 0));
            const read = (more: object): Promise<SessionEvent[]> =>
              Array.fromAsync(log.read(session, { from, to, ...more }));
            assert.deepEqual(await read({}), span);
            assert.deepEqual(await read({ backwards: true }), span.toReversed());
            assert.deepEqual(await read({ limit: 2 }), span.slice(0, 2));
            assert.deepEqual(
              await read({ limit: 2, backwards: true }),
              span.toReversed().slice(0, 2),
            );
          }
        }
      }
    },
  ],
  [
    "refuses a fork of nothing, at no position, under a name that is taken, or without its link",
    async (log) => {
      await log.append("p", "none", numberedUpTo(2));
      const unknown = await fails("SESSION_NOT_FOUND", () => log.fork("f", [forked("q", 1)]));
      assert.equal(unknown.session, "q");
      const beyond = await fails("INVALID_INPUT", () => log.fork("f", [forked("p", 3)]));
      assert.equal(beyond.position, 3);
      for (const position of [0, -1, 1.5])
        await fails("INVALID_INPUT", () => log.fork("f", [forked("p", position)]));
      await fails("SESSION_NOT_FOUND", () => log.fork("f", [forked("f", 1)]));
      await fails("INVALID_INPUT", () => log.fork("f", [forked("not a name", 1)]));
      await fails("REVISION_CONFLICT", () => log.fork("p", [forked("p", 1)]));
      await log.fork("fork", [forked("p", 1)]);
      await fails("REVISION_CONFLICT", () => log.fork("p", [{ ...forked("fork", 1), id: "id" }]));
      await log.delete("fork");
      await fails("SESSION_NOT_FOUND", () => log.fork("f", [{ ...forked("f", 1), id: "id" }]));
      await fails("REVISION_CONFLICT", () => log.fork("p", [{ ...forked("p", 1), id: "id" }]));
      // Untyped JavaScript can pass any value.
      const untyped: { fork(session: string, events: unknown): Promise<unknown> } = log;
      const nowhere = { ...forked("p", 1), data: {} };
      await fails("INVALID_INPUT", () => untyped.fork("f", [nowhere]));
      await fails("INVALID_INPUT", () => untyped.fork("f", [numbered(1)]));
      await fails("INVALID_INPUT", () => untyped.fork("f", []));
      assert.equal(await log.revision("f"), 0);
      assert.deepEqual(await positionsOf(log.read("f")), []);
      assert.deepEqual(await positionsOf(log.read("p")), [1, 2]);
      assert.equal((await log.append("f", "none", [numbered(1)])).revision, 1);
    },
  ],
  [
    "makes one fork of a name, however many ask for it at the same time",
    async (log) => {
      await log.append("p", "none", numberedUpTo(3));
      const attempts = await Promise.allSettled(
        [1, 2, 3].map((position) => log.fork("f", [forked("p", position)])),
      );
      assert.deepEqual(
        attempts.map(({ status }) => status),
        ["fulfilled", "rejected", "rejected"],
      );
      assert.deepEqual(await Array.fromAsync(log.read("f")), stored([numbered(1), forked("p", 1)]));
    },
  ],
  [
    "gives a fork's subscribers its shared events, then its own live events, and no others",
    async (log) => {
      await log.append("p", "none", numberedUpTo(3));
      const early = log.subscribe("f")[Symbol.asyncIterator]();
      const waiting = take(early);
      await log.fork("f", [forked("p", 2)]);
      const late = log.subscribe("f", { from: 2 })[Symbol.asyncIterator]();
      const [first, second, third] = stored([...numberedUpTo(2), forked("p", 2)]);
      assert.deepEqual(
        [await waiting, await take(early), await take(early)],
        [first, second, third],
      );
      assert.deepEqual([await take(late), await take(late)], [second, third]);
      const next = Promise.all([take(early), take(late)]);
      await log.append("p", "any", [numbered(4)]);
      await log.append("f", "any", [numbered(90)]);
      const own = { ...numbered(90), position: 4 };
      assert.deepEqual(await next, [own, own]);
      await early.return?.();
      await late.return?.();
    },
  ],
  [
    "counts the ids of the events that a fork shares, and not those that came later",
    async (log) => {
      await log.append("a", "none", [numbered(1, "one")]);
      const two = await log.append("a", 1, [numbered(2, "two")]);
      await log.append("a", 2, [numbered(3, "three")]);
      await log.fork("b", [forked("a", 2)]);
      await log.fork("c", [forked("b", 3)]);
      assert.deepEqual(await log.append("c", "any", [numbered(2, "two")]), {
        ...two,
        repeated: true,
      });
      assert.equal((await log.append("c", 4, [numbered(3, "three")])).repeated, false);
      assert.equal((await log.append("b", "any", [numbered(9, "nine")])).repeated, false);
      assert.equal((await log.append("c", 5, [numbered(9, "nine")])).repeated, false);
      await fails("EVENT_ID_CONFLICT", () =>
        log.append("b", "any", [numbered(1, "one"), numbered(4, "four")]),
      );
    },
  ],
  [
    "makes a fork once, however often its events with their ids are appended",
    async (log) => {
      await log.append("p", "none", [numbered(1, "one"), numbered(2)]);
      const events = [{ ...forked("p", 2), id: "fork" }, numbered(3)] as const;
      const made = await log.fork("f", events);
      assert.deepEqual(await log.fork("f", events), {
        ...made,
        revision: 3,
        position: 3,
        repeated: true,
      });
      assert.deepEqual(await positionsOf(log.read("f")), [1, 2, 3, 4]);
      // The shared events cannot contain the fork itself.
      await fails("EVENT_ID_CONFLICT", () => log.fork("g", [forked("p", 2), numbered(1, "one")]));
      assert.equal(await log.revision("g"), 0);
    },
  ],
  [
    "puts only a fork's own events into the global order",
    async (log) => {
      await log.append("p", "none", numberedUpTo(2));
      await log.fork("f", [forked("p", 2)]);
      await log.append("p", 2, [numbered(3)]);
      await log.append("f", 3, [numbered(4)]);
      assert.deepEqual(
        (await Array.fromAsync(log.readAll())).map(({ position, session, event }) => [
          position,
          session,
          event.position,
        ]),
        [
          [1, "p", 1],
          [2, "p", 2],
          [3, "f", 3],
          [4, "p", 3],
          [5, "f", 4],
        ],
      );
    },
  ],
  [
    "lists where a fork branches off, its last position and its own times",
    async (log) => {
      await log.append("p", "none", numberedUpTo(2));
      await log.fork("f", [{ ...forked("p", 1), time: 5000 }]);
      await log.append("f", 2, [{ ...numbered(1), time: 6000 }]);
      assert.deepEqual(await Array.fromAsync(log.list()), [
        {
          session: "f",
          revision: 3,
          createdAt: 5000,
          updatedAt: 6000,
          forkedFrom: { session: "p", position: 1 },
        },
        { session: "p", revision: 2, createdAt: 1001, updatedAt: 1002 },
      ]);
    },
  ],
  [
    "may give a fork a snapshot of shared events, never one of other events",
    async (log) => {
      await log.append("p", "none", numberedUpTo(4));
      const snapshot = { projection: "x", version: 1, state: { of: "p" } };
      await log.fork("f", [forked("p", 3)]);
      await log.saveSnapshot("p", { ...snapshot, position: 4 });
      assert.equal(await log.loadSnapshot("f", "x"), undefined);
      await log.saveSnapshot("p", { ...snapshot, position: 3 });
      const given = await log.loadSnapshot("f", "x");
      if (given !== undefined) assert.deepEqual(given, { ...snapshot, position: 3 });
      const own = { ...snapshot, position: 4, state: { of: "f" } };
      await log.saveSnapshot("f", own);
      assert.deepEqual(await log.loadSnapshot("f", "x"), own);
      assert.equal((await log.loadSnapshot("p", "x"))?.position, 3);
    },
  ],
  [
    "forks events that were appended but are not written yet",
    async (log) => {
      await log.append("p", "none", [numbered(1)]);
      const appended = log.append("p", 1, [numbered(2)]);
      const made = log.fork("f", [forked("p", 2)]);
      const grown = made.then(() => log.append("f", 3, [numbered(3)]));
      await Promise.all([appended, grown]);
      assert.deepEqual(
        await Array.fromAsync(log.read("f")),
        stored([...numberedUpTo(2), forked("p", 2), numbered(3)]),
      );
    },
  ],
];
