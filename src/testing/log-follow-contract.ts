/** The contract of `EventLog.subscribeAll`. */

import assert from "node:assert/strict";
import type { EventLog, GlobalEvent } from "../events/index.ts";
import {
  appendInTurn,
  fails,
  forked,
  numbered,
  numberedUpTo,
  type Promised,
} from "./log-samples.ts";

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
