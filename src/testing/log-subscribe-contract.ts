/** The contract of `EventLog.subscribe`. */

import assert from "node:assert/strict";
import {
  appendInTurn,
  fails,
  numbered,
  numberedUpTo,
  stored,
  take,
  type Promised,
} from "./log-samples.ts";
import type { EventLog, SessionEvent } from "../events/index.ts";

function iterator(log: EventLog, from = 1, signal?: AbortSignal): AsyncIterator<SessionEvent> {
  const events = log.subscribe("s", signal === undefined ? { from } : { from, signal });
  return events[Symbol.asyncIterator]();
}

async function takeSeveral(
  events: AsyncIterator<SessionEvent>,
  count: number,
): Promise<SessionEvent[]> {
  const taken: SessionEvent[] = [];
  while (taken.length < count) taken.push(await take(events));
  return taken;
}

export const subscribeContract: readonly Promised[] = [
  [
    "gives the past and then live events without a gap, from any position",
    async (log) => {
      await log.append("s", "none", numberedUpTo(10));
      for (const from of [1, 5, 10, 11]) {
        const events = iterator(log, from);
        const rest = takeSeveral(events, 21 - from);
        await log.append("other", "any", [numbered(0)]);
        if (from === 1) await log.append("s", 10, numberedUpTo(10, 11));
        assert.deepEqual(await rest, stored(numberedUpTo(21 - from, from), from));
        await events.return?.();
      }
    },
  ],
  [
    "misses nothing while it changes from the past to live",
    async (log) => {
      await log.append("s", "none", numberedUpTo(2000));
      const events = iterator(log);
      const seen = takeSeveral(events, 3000);
      for (let number = 2001; number <= 3000; number += 10) {
        await log.append("s", number - 1, numberedUpTo(10, number));
      }
      assert.deepEqual(await seen, stored(numberedUpTo(3000)));
      await events.return?.();
    },
  ],
  [
    "follows a session that does not exist yet, and waits for a position that is not there yet",
    async (log) => {
      const whole = iterator(log);
      const later = iterator(log, 3);
      const first = take(whole);
      const third = take(later);
      await log.append("s", "none", numberedUpTo(3));
      assert.equal((await first).position, 1);
      assert.equal((await third).position, 3);
      await Promise.all([whole.return?.(), later.return?.()]);
    },
  ],
  [
    "delivers no event before its append has resolved",
    async (log) => {
      const events = iterator(log);
      const order: string[] = [];
      const seen = (async () => {
        for (let number = 1; number <= 20; number++)
          order.push(`seen ${(await take(events)).position}`);
      })();
      const appends = Array.from({ length: 20 }, async (_, index) => {
        const { revision } = await log.append("s", "any", [numbered(index)]);
        order.push(`appended ${revision}`);
      });
      await Promise.all([...appends, seen]);
      for (let number = 1; number <= 20; number++) {
        assert.ok(
          order.indexOf(`appended ${number}`) < order.indexOf(`seen ${number}`),
          order.join(", "),
        );
      }
      await events.return?.();
    },
  ],
  [
    "gives every subscriber everything, even one that is much slower than the writer",
    async (log) => {
      const slow = iterator(log);
      assert.equal(
        (await Promise.all([take(slow), log.append("s", "none", [numbered(1)])]))[0].position,
        1,
      );
      const fast = takeSeveral(iterator(log), 5000);
      for (let number = 2; number <= 5000; number += 200) {
        await Promise.all(
          numberedUpTo(Math.min(200, 5001 - number), number).map((event) =>
            log.append("s", "any", [event]),
          ),
        );
      }
      const all = stored(numberedUpTo(5000));
      assert.deepEqual(await fast, all);
      assert.deepEqual(await takeSeveral(slow, 4999), all.slice(1));
      await slow.return?.();
    },
  ],
  [
    "ends when its signal aborts, even while it waits, and immediately if it was already aborted",
    async (log) => {
      await log.append("s", "none", [numbered(1)]);
      const stop = new AbortController();
      const events = iterator(log, 1, stop.signal);
      await take(events);
      const waiting = events.next();
      // When this is written, the subscription has read to the end.
      await log.append("other", "any", [numbered(1)]);
      stop.abort();
      assert.equal((await waiting).done, true);
      assert.equal((await events.next()).done, true);
      assert.equal((await iterator(log, 1, stop.signal).next()).done, true);
    },
  ],
  [
    "ends when it is told to return, even while it waits",
    async (log) => {
      await log.append("s", "none", numberedUpTo(3));
      for await (const event of log.subscribe("s")) if (event.position === 2) break;
      const events = iterator(log, 4);
      const waiting = events.next();
      await log.append("other", "any", [numbered(1)]);
      await events.return?.();
      assert.equal((await waiting).done, true);
    },
  ],
  [
    "ends when the log closes, even while it waits or reads the past",
    async (log) => {
      await log.append("s", "none", numberedUpTo(2000));
      const behind = iterator(log);
      await take(behind);
      const waiting = iterator(log, 2001).next();
      await log.close();
      assert.equal((await waiting).done, true);
      let next = await behind.next();
      for (let position = 2; next.done !== true; position++, next = await behind.next())
        assert.equal(next.value.position, position);
    },
  ],
  [
    "releases subscriptions that ended, and lets others continue",
    async (log) => {
      const stop = new AbortController();
      const ended = Array.from({ length: 20 }, () => iterator(log, 1, stop.signal));
      const waiting = ended.map((events) => events.next());
      const stays = iterator(log);
      const seen = takeSeveral(stays, 20);
      stop.abort();
      for (const { done } of await Promise.all(waiting)) assert.equal(done, true);
      await appendInTurn(log, ["s", "t"], 20);
      assert.deepEqual(await seen, stored(numberedUpTo(20)));
      await stays.return?.();
    },
  ],
  [
    "refuses names that no session can have",
    async (log) => {
      await fails("INVALID_INPUT", () =>
        log.subscribe("not a name")[Symbol.asyncIterator]().next(),
      );
    },
  ],
];
