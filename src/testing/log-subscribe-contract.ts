/** The contract of `EventLog.subscribe` and `subscribeAll`. */

import assert from "node:assert/strict";
import {
  appendInTurn,
  fails,
  numbered,
  numberedUpTo,
  stored,
  take,
  type Promised,
  forked,
} from "./log-samples.ts";
import type { EventLog, SessionEvent, GlobalEvent } from "../events/index.ts";

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

// The contract of `EventLog.subscribeAll`.

function follow(log: EventLog, from = 1, signal?: AbortSignal): AsyncIterator<GlobalEvent> {
  const options = signal === undefined ? { from } : { from, signal };
  return log.subscribeAll(options)[Symbol.asyncIterator]();
}

async function takeAll(events: AsyncIterator<GlobalEvent>, count: number): Promise<GlobalEvent[]> {
  const taken: GlobalEvent[] = [];
  while (taken.length < count) {
    const next = await events.next();
    assert.ok(next.done !== true, "the subscription ended");
    taken.push(next.value);
  }
  return taken;
}

export const followContract: readonly Promised[] = [
  [
    "refuses a position that is not a whole number",
    async (log) => {
      await fails("INVALID_INPUT", () => follow(log, 1.5).next());
      await fails("INVALID_INPUT", () => follow(log, Number.NaN).next());
    },
  ],
  [
    "gives the past of all sessions and then live events in global order, from any position",
    async (log) => {
      await appendInTurn(log, ["a", "b"], 10);
      for (const from of [1, 7, 20, 21]) {
        const events = follow(log, from);
        const count = from === 1 ? 26 : 27 - from;
        const rest = takeAll(events, count);
        if (from === 1) {
          await appendInTurn(log, ["b", "c"], 2);
          await log.fork("f", [forked("a", 3), numbered(1)]);
        }
        const order = await Array.fromAsync(log.readAll({ from }));
        assert.deepEqual(await rest, order.slice(0, count));
        await events.return?.();
      }
    },
  ],
  [
    "misses nothing while several write and it changes from the past to live",
    async (log) => {
      await appendInTurn(log, ["a", "b", "c"], 300);
      const events = follow(log);
      const seen = takeAll(events, 1800);
      for (let round = 0; round < 10; round++) await appendInTurn(log, ["a", "b", "c"], 30);
      const order = await Array.fromAsync(log.readAll());
      assert.deepEqual(await seen, order);
      await events.return?.();
    },
  ],
  [
    "delivers no event before its append has resolved",
    async (log) => {
      const events = follow(log);
      const order: string[] = [];
      const seen = (async () => {
        for (let number = 1; number <= 20; number++)
          for (const { position } of await takeAll(events, 1)) order.push(`seen ${position}`);
      })();
      const appends = Array.from({ length: 20 }, async (_, index) => {
        const { position } = await log.append(`s-${index % 3}`, "any", [numbered(index)]);
        order.push(`appended ${position}`);
      });
      await Promise.all([...appends, seen]);
      for (let number = 1; number <= 20; number++)
        assert.ok(order.indexOf(`appended ${number}`) < order.indexOf(`seen ${number}`));
      await events.return?.();
    },
  ],
  [
    "leaves out deleted events and continues after them",
    async (log) => {
      await appendInTurn(log, ["a", "s"], 5);
      const events = follow(log);
      await log.delete("s");
      await log.append("a", 5, [numbered(6)]);
      const seen = await takeAll(events, 6);
      assert.deepEqual(
        seen.map(({ session, event }) => `${session}:${event.position}`),
        ["a:1", "a:2", "a:3", "a:4", "a:5", "a:6"],
      );
      const last = follow(log, 12);
      const more = takeAll(last, 1);
      await log.append("s-2", "none", [numbered(1)]);
      assert.equal((await more)[0]?.position, 12);
      await Promise.all([events.return?.(), last.return?.()]);
    },
  ],
  [
    "ends when its signal aborts, when it is told to return and when the log closes, even while it waits",
    async (log) => {
      await log.append("s", "none", numberedUpTo(3));
      const stop = new AbortController();
      const all = [follow(log, 4, stop.signal), follow(log, 4), follow(log, 4)] as const;
      const [aborted, returned, closed] = all.map((events) => events.next());
      stop.abort();
      assert.equal((await aborted)?.done, true);
      assert.equal((await follow(log, 1, stop.signal).next()).done, true);
      await all[1].return?.();
      assert.equal((await returned)?.done, true);
      await log.close();
      assert.equal((await closed)?.done, true);
      assert.equal((await all[2].next()).done, true);
      await fails("LOG_CLOSED", () => follow(log).next());
    },
  ],
];
