/**
 * Deltas that arrive one by one are written one by one, and merged when their block ends: reading
 * does not show it, and the log stays small.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { EventLog, GlobalEvent, NewEvent, SessionEvent } from "../../../src/events/index.ts";
import { checkChain } from "../../../src/store/row-engine/read/chain-check.ts";
import { chainStart } from "../../../src/store/row-engine/rows/commit-record.ts";
import { alone, numbered, numberedUpTo, take } from "../../../src/testing/index.ts";
import { runs } from "../../support/runs.ts";
import { rewritten } from "./copied-rows.ts";
import { long, randomFrom, timeout } from "./disk.ts";
import { openFaultyLog, openOver, type FaultyLog } from "./faulty-database.ts";

const DELTAS = ["part.text-delta", "part.reasoning-delta", "part.tool-input-delta"] as const;

/** An append of a few events; mostly the next delta of the same block. */
const appended = fc.record({
  session: fc.constantFrom("a", "a", "a", "b"),
  count: fc.constantFrom(1, 1, 1, 2, 20),
  block: fc.constantFrom("0", "0", "0", "0", "0", "0", "1"),
  type: fc.constantFrom(...DELTAS.slice(0, 1), ...DELTAS.slice(0, 1), ...DELTAS),
  ends: fc.constantFrom(false, false, false, false, false, true),
  waits: fc.boolean(),
});

/** The simplest model of a log. */
interface Truth {
  readonly sessions: Map<string, SessionEvent[]>;
  readonly order: GlobalEvent[];
}

function note({ sessions, order }: Truth, session: string, events: readonly NewEvent[]): void {
  const known = sessions.get(session) ?? [];
  sessions.set(session, known);
  for (const event of events) {
    const stored = { ...event, position: known.length + 1 };
    known.push(stored);
    order.push({ position: order.length + 1, session, event: stored });
  }
}

async function agree(log: EventLog, { sessions, order }: Truth, from: number): Promise<void> {
  for (const [session, events] of sessions) {
    expect(await Array.fromAsync(log.read(session))).toEqual(events);
    const start = 1 + (from % events.length);
    const backwards = await Array.fromAsync(log.read(session, { from: start, backwards: true }));
    expect(backwards).toEqual(events.slice(start - 1).toReversed());
    const few = await Array.fromAsync(log.read(session, { from: start, limit: 3 }));
    expect(few).toEqual(events.slice(start - 1, start + 2));
  }
  expect(await Array.fromAsync(log.readAll())).toEqual(order);
  const start = 1 + (from % order.length);
  expect(await Array.fromAsync(log.readAll({ from: start }))).toEqual(order.slice(start - 1));
}

/** As another process finds it: opened over the same rows, and over repaired ones. */
async function agreeLater({ rows }: FaultyLog, truth: Truth, from: number): Promise<void> {
  await checkChain(rows, chainStart);
  const mended = await rewritten(rows);
  await checkChain(mended, chainStart);
  for (const one of [rows, mended]) {
    const { log } = await openOver(one);
    await agree(log, truth, from);
  }
}

it(
  "is read as it was appended, from anywhere and in both directions, while other sessions write",
  async () => {
    const arbitrary = fc.array(appended, { minLength: 1, maxLength: 200, size: "max" });
    await fc.assert(
      fc.asyncProperty(arbitrary, fc.nat(), async (appends, from) => {
        const faulty = await openFaultyLog();
        const truth: Truth = { sessions: new Map(), order: [] };
        // Known sessions are written in the order of the calls.
        for (const session of ["a", "b"]) {
          note(truth, session, [numbered(0)]);
          await faulty.log.append(session, "none", [numbered(0)]);
        }
        let last: Promise<unknown> = Promise.resolve();
        for (const [number, { session, count, block, type, ends, waits }] of appends.entries()) {
          const events = Array.from({ length: count }, (_, index): NewEvent => {
            const at = 1000 + 7 * number + index;
            if (ends) return { type: "part.text-end", time: at, data: { id: block } };
            const text = `${number}.${index} `;
            return type === "part.tool-input-delta"
              ? { type, time: at, data: { id: block, delta: text } }
              : { type, time: at, data: { id: block, text } };
          });
          note(truth, session, events);
          last = faulty.log.append(session, "any", events);
          if (waits) await last;
        }
        await last;
        await agree(faulty.log, truth, from);
        await agreeLater(faulty, truth, from);
        await faulty.log.close();
      }),
      runs(15, 25),
    );
  },
  timeout,
);

it(
  "takes at most twice the bytes of what was said, in deltas of 1 to 20 bytes that come alone",
  async () => {
    const { log, rows } = await openFaultyLog();
    const random = randomFrom(9);
    const count = long ? 100_000 : 20_000;
    let content = 0;
    let at = 1_790_000_000_000;
    for (let number = 1; number <= count; number++) {
      const text = "abcdefghij klmnopqrst".slice(0, 1 + Math.floor(random() * 20));
      content += text.length;
      at += Math.floor(random() * 40);
      const isEnd = number % 300 === 0;
      const delta: NewEvent = { type: "part.text-delta", time: at, data: { id: "0", text } };
      await log.append("s", "any", [
        isEnd ? { type: "part.text-end", time: at, data: { id: "0" } } : delta,
      ]);
    }
    let bytes = 0;
    for (const [key, row] of await rows.iterator().all()) bytes += key.length + row.length;
    expect(bytes / content).toBeLessThan(2);
    await log.close();
  },
  timeout,
);

it("is read in global order while records are merged behind and before the reader", async () => {
  const { log } = await openFaultyLog();
  // Enough that a page of records ends among those that are merged next.
  const count = 64 * 230 + 60;
  for (let number = 1; number <= count; number++) await log.append("s", "any", [numbered(number)]);
  const reading = log.readAll()[Symbol.asyncIterator]();
  const seen: number[] = [];
  for (let number = count + 1; ; number++) {
    const next = await reading.next();
    if (next.done === true) break;
    seen.push(next.value.position);
    // Ends the block now and then, so that rows are merged during the read too.
    await log.append("s", "any", [number % 50 === 0 ? alone(number) : numbered(number)]);
  }
  expect(seen).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  await log.close();
});

it("shows a subscriber each delta as it comes, and the past in one row as the same", async () => {
  const { log, rows } = await openFaultyLog();
  const live = log.subscribe("s")[Symbol.asyncIterator]();
  const events = [...numberedUpTo(40), alone(41)];
  for (const event of events) {
    await log.append("s", "any", [event]);
    expect(await take(live)).toEqual({ ...event, position: event.time - 1000 });
  }
  await live.return?.();
  expect(await rows.keys({ gte: "e/", lt: "e0" }).all()).toHaveLength(2);
  const past = log.subscribe("s")[Symbol.asyncIterator]();
  for (const event of events) {
    expect(await take(past)).toEqual({ ...event, position: event.time - 1000 });
  }
  await past.return?.();
  await log.close();
});
