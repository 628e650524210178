/** The contract of `EventLog.read` and `readAll`. */

import assert from "node:assert/strict";
import type { NewEvent, ReadRange } from "../events/index.ts";
import {
  alone,
  appendInTurn,
  fails,
  numbered,
  numberedUpTo,
  positionsOf,
  stored,
  type Promised,
} from "./log-samples.ts";

const odd: readonly NewEvent[] = [
  { type: "part.text-delta", time: 0, data: { id: "", text: 'a\u0000b\u2028\ud83d\ude00é"\\\n' } },
  {
    type: "part.text-delta",
    time: 1.5,
    data: { id: "0", text: "", providerMetadata: { x: { y: [null, { z: 1e-7 }] } } },
  },
  {
    type: "unknown",
    time: 2,
    data: { type: "later.happened", version: 7, data: { deep: [[[{}]], false] } },
    id: "i",
  },
  {
    type: "message.queued",
    time: 3,
    data: { id: "m", content: [{ type: "text", text: "x".repeat(100_000) }], delivery: "steer" },
  },
];

export const readContract: readonly Promised[] = [
  [
    "returns exactly what was appended, even events that this release does not know",
    async (log) => {
      await log.append("s", "none", odd, { origin: "copied" });
      assert.deepEqual(await Array.fromAsync(log.read("s")), stored(odd));
      assert.deepEqual(
        (await Array.fromAsync(log.readAll())).map(({ event }) => event),
        stored(odd),
      );
    },
  ],
  [
    "reads any part of a session in both directions",
    async (log) => {
      await log.append("s", "none", numberedUpTo(40));
      await log.append("s-", "none", numberedUpTo(3));
      await log.append("r", "none", numberedUpTo(3));
      const cases: readonly (readonly [ReadRange, readonly number[]])[] = [
        [{ from: 38 }, [38, 39, 40]],
        [{ to: 2 }, [1, 2]],
        [{ from: 5, to: 7 }, [5, 6, 7]],
        [{ from: 7, to: 5 }, []],
        [{ from: 41 }, []],
        [{ from: 39, to: 99 }, [39, 40]],
        [{ from: -3, to: 1 }, [1]],
        [{ limit: 2 }, [1, 2]],
        [{ limit: 0 }, []],
        [{ from: 39, limit: 9 }, [39, 40]],
        [{ backwards: true, limit: 2 }, [40, 39]],
        [{ from: 5, to: 7, backwards: true }, [7, 6, 5]],
        [{ from: 5, to: 7, limit: 2, backwards: true }, [7, 6]],
        [{ to: 99, limit: 1, backwards: true }, [40]],
      ];
      for (const [range, expected] of cases) {
        assert.deepEqual(await positionsOf(log.read("s", range)), expected, JSON.stringify(range));
      }
    },
  ],
  [
    "reads single events in the requested order, alone in their rows or not, and leaves out missing ones",
    async (log) => {
      const events = [...numberedUpTo(300), ...numberedUpTo(5, 301, alone)];
      await log.append("s", "none", events);
      const all = stored(events);
      const apart = events.map((_, index) => ((index * 7) % events.length) + 1);
      const asked = [[1], [305, 2, 256, 257, 303, 2], [300, 301], [0, 7, 306, -1], [], apart];
      for (const positions of asked) {
        assert.deepEqual(
          await log.readAt("s", positions),
          positions.flatMap((position) => all[position - 1] ?? []),
          String(positions),
        );
      }
      await log.append("t", "none", odd, { origin: "copied" });
      assert.deepEqual(await log.readAt("t", [4, 3, 2, 1]), stored(odd).toReversed());
      assert.deepEqual(await log.readAt("u", [1]), []);
      await fails("INVALID_INPUT", () => log.readAt("s", [1.5]));
      await fails("INVALID_INPUT", () => log.readAt("not a name", [1]));
    },
  ],
  [
    "has no events of a session without appends, and refuses invalid names and positions",
    async (log) => {
      await log.append("s", "none", [numbered(1)]);
      assert.deepEqual(await positionsOf(log.read("t")), []);
      assert.deepEqual(await positionsOf(log.read("S")), []);
      assert.equal(await log.revision("t"), 0);
      await fails("INVALID_INPUT", () => Array.fromAsync(log.read("not a name")));
      for (const range of [{ from: 1.5 }, { to: Number.NaN }, { limit: 0.5 }]) {
        await fails("INVALID_INPUT", () => Array.fromAsync(log.read("s", range)));
      }
      for (const from of [1.5, Number.NaN])
        await fails("INVALID_INPUT", () => Array.fromAsync(log.readAll({ from })));
    },
  ],
  [
    "shows an append to every reader that starts after it has resolved",
    async (log) => {
      for (let number = 1; number <= 20; number++) {
        await log.append("s", number - 1, [numbered(number)]);
        assert.deepEqual(await positionsOf(log.read("s", { from: number })), [number]);
        assert.equal(await log.revision("s"), number);
      }
    },
  ],
  [
    "shows a reader a whole beginning of the session while others append",
    async (log) => {
      const appends = appendInTurn(log, ["s", "t"], 500);
      for (let reads = 0; reads < 10; reads++) {
        const positions = await positionsOf(log.read("s"));
        assert.deepEqual(
          positions,
          positions.map((_, index) => index + 1),
        );
      }
      await appends;
      assert.equal((await positionsOf(log.read("s"))).length, 500);
    },
  ],
  [
    "lets a reader stop early",
    async (log) => {
      await log.append("s", "none", numberedUpTo(3000));
      for await (const event of log.read("s")) if (event.position === 2) break;
      for await (const { position } of log.readAll()) if (position === 2) break;
      assert.equal((await positionsOf(log.read("s"))).length, 3000);
    },
  ],
  [
    "orders the events of all sessions, consistently with each session's order",
    async (log) => {
      await appendInTurn(log, ["a", "b", "c"], 50);
      await log.append("b", "any", numberedUpTo(20, 51));
      const all = await Array.fromAsync(log.readAll());
      assert.deepEqual(
        all.map(({ position }) => position),
        Array.from({ length: 170 }, (_, index) => index + 1),
      );
      for (const session of ["a", "b", "c"]) {
        const own = all.filter((event) => event.session === session).map(({ event }) => event);
        assert.deepEqual(own, await Array.fromAsync(log.read(session)));
      }
    },
  ],
  [
    "names the same global position when it appends and when it reads all",
    async (log) => {
      const places = new Map<number, string>();
      for (let number = 1; number <= 30; number++) {
        const session = `s-${number % 4}`;
        const { position, revision } = await log.append(session, "any", [numbered(number)]);
        places.set(position, `${session}:${revision}`);
      }
      for await (const { position, session, event } of log.readAll()) {
        assert.equal(places.get(position), `${session}:${event.position}`);
      }
      assert.equal(places.size, 30);
    },
  ],
  [
    "reads all from any global position on",
    async (log) => {
      await appendInTurn(log, ["a", "b"], 20);
      await log.append("c", "none", numberedUpTo(20));
      const all = await Array.fromAsync(log.readAll());
      for (const from of [0, 1, 2, 17, 40, 41, 50, 60, 61, 999]) {
        assert.deepEqual(
          await Array.fromAsync(log.readAll({ from })),
          all.slice(Math.max(0, from - 1)),
          `from ${from}`,
        );
      }
    },
  ],
  [
    "reads everything up to now, whatever is appended during the read",
    async (log) => {
      await appendInTurn(log, ["a", "b"], 300);
      const seen: number[] = [];
      let more: Promise<unknown> | undefined;
      for await (const { position } of log.readAll()) {
        more ??= appendInTurn(log, ["a", "c"], 100);
        seen.push(position);
      }
      await more;
      assert.deepEqual(
        seen,
        Array.from({ length: 600 }, (_, index) => index + 1),
      );
    },
  ],
];
