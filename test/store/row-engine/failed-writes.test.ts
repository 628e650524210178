/**
 * Writes that fail and leave the store as it was, in the middle of others: what was acknowledged is there, what was
 * refused is not, and no change builds on one that failed.
 */
import { MemoryLevel } from "memory-level";
import { expect, it } from "vitest";
import { verifyLog } from "../../../src/archive/verify/index.ts";
import { TurnlogError, type EventLog, type NewEvent } from "../../../src/events/index.ts";
import { checkedLog } from "../../../src/store/engine/index.ts";
import { rowEngine, type RowStore } from "../../../src/store/row-engine/index.ts";
import { fails, forked, numbered } from "../../../src/testing/index.ts";
import { randomFrom } from "../leveldb/disk.ts";

type Random = () => number;

const NAMES = ["a", "b", "c", "d"];

/** `fate`: called before each write, which fails if it throws. `wait`: before each read. */
async function opened(
  level: MemoryLevel,
  fate: () => Promise<void>,
  wait = async (): Promise<void> => {},
): Promise<EventLog> {
  const store: RowStore = {
    undoes: true,
    getMany: async (keys) => {
      await wait();
      return await level.getMany(keys);
    },
    iterator: (range) => {
      const scan = level.iterator(range);
      return {
        nextv: async (size) => {
          await wait();
          return await scan.nextv(size);
        },
        close: () => scan.close(),
      };
    },
    batch: () => {
      const batch = level.batch();
      return {
        put: (key, row) => batch.put(key, row),
        del: (key) => batch.del(key),
        write: async () => {
          await fate();
          await batch.write();
        },
        close: () => batch.close(),
      };
    },
    close: async () => {},
  };
  return checkedLog(await rowEngine(store));
}

async function memory(): Promise<MemoryLevel> {
  const level = new MemoryLevel({ storeEncoding: "utf8" });
  await level.open();
  return level;
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** What was acknowledged: the events of each session by position, and the deleted ones. */
class Acknowledged {
  readonly events = new Map<string, Map<number, NewEvent>>();
  readonly deleted = new Set<string>();
  #next = 0;

  /** Whether it was made. */
  async made(change: () => Promise<void>): Promise<boolean> {
    try {
      await change();
      return true;
    } catch (error) {
      if (
        !TurnlogError.isInstance(error) ||
        !["LOG_FAILED", "REVISION_CONFLICT", "SESSION_DELETED"].includes(error.code)
      )
        throw error;
      return false;
    }
  }

  event(random: Random): NewEvent {
    const number = this.#next++;
    return random() < 0.3 ? numbered(number, `id-${number}`) : numbered(number);
  }

  add(session: string, events: readonly NewEvent[], revision: number): void {
    const own = this.events.get(session) ?? new Map<number, NewEvent>();
    this.events.set(session, own);
    for (const [index, event] of events.entries())
      own.set(revision - events.length + 1 + index, event);
  }
}

async function disturb(log: EventLog, name: string, known: Acknowledged, random: Random) {
  let revision = 0;
  for (let round = 0; round < 40; round++) {
    await turns(Math.floor(random() * 3));
    const events = Array.from({ length: 1 + Math.floor(random() * 3) }, () => known.event(random));
    const session = [name, ...NAMES][Math.floor(random() * 6)] ?? "shared";
    const expected = session === name && random() < 0.5 ? revision || "none" : "any";
    await known.made(async () => {
      const appended = await log.append(session, expected, events);
      known.add(session, events, appended.revision);
      if (session === name) revision = appended.revision;
    });
    if (revision === 0 || random() > 0.15) continue;
    const fork = `${name}-${round}`;
    const first = forked(name, revision);
    const isMade = await known.made(async () => {
      const { revision: end } = await log.fork(fork, [first]);
      for (const [position, shared] of known.events.get(name) ?? [])
        if (position < end) known.add(fork, [shared], position);
      known.add(fork, [first], end);
    });
    if (!isMade || random() < 0.5) continue;
    await known.made(async () => {
      await log.delete(name, { forks: "copy" });
      known.deleted.add(name);
    });
    if (known.deleted.has(name)) revision = 0;
  }
}

async function asTold(log: EventLog, known: Acknowledged): Promise<void> {
  const listed = new Set<string>();
  for await (const { session, revision } of log.list()) {
    listed.add(session);
    const own = known.events.get(session);
    expect(Math.max(...(own?.keys() ?? [])), session).toBe(revision);
    for await (const { position, data } of log.read(session))
      expect(data, `${session}:${position}`).toEqual(own?.get(position)?.data);
  }
  const alive = [...known.events.keys()].filter((session) => !known.deleted.has(session));
  expect([...listed].toSorted()).toEqual(alive.toSorted());
  const deleted = await Array.fromAsync(log.deleted());
  expect(deleted.map(({ session }) => session)).toEqual([...known.deleted].toSorted());
  for (const { session, revision } of deleted)
    expect(Math.max(...(known.events.get(session)?.keys() ?? [])), session).toBe(revision);
  expect((await verifyLog(log)).problems).toEqual([]);
}

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "keeps what was acknowledged and nothing else, though every fifth write fails (%i)",
  async (seed) => {
    const random = randomFrom(seed);
    const level = await memory();
    let isCalm = false;
    const fate = async (): Promise<void> => {
      await turns(Math.floor(random() * 3));
      if (!isCalm && random() < 0.2) throw new Error("the write failed");
    };
    const log = await opened(level, fate, () => turns(Math.floor(random() * 4)));
    const known = new Acknowledged();
    await Promise.all(NAMES.map((name) => disturb(log, name, known, random)));
    isCalm = true;
    expect(known.events.size).toBeGreaterThan(4);
    await asTold(log, known);
    await log.append("last", "none", [numbered(1)]);
    known.add("last", [numbered(1)], 1);
    // As after a kill: nothing was written at the end.
    await asTold(await opened(level, fate), known);
    await log.close();
    await asTold(await opened(level, fate), known);
  },
);

it("refuses what a writer appends behind a write that failed", async () => {
  let failing = true;
  const log = await opened(await memory(), async () => {
    await turns(1);
    if (failing) throw new Error("the write failed");
  });
  const writer = {};
  await fails("LOG_FAILED", () => log.append("s", "any", [numbered(1)], { writer }));
  failing = false;
  await fails("REVISION_CONFLICT", () => log.append("s", "any", [numbered(2)], { writer }));
  expect((await log.append("s", "none", [numbered(1)])).revision).toBe(1);
});

it("tells the error of a store that says itself what to do", async () => {
  const refusal = new TurnlogError("LOG_FULL", "There is no room. Delete a session.");
  const log = await opened(await memory(), () => Promise.reject(refusal));
  await expect(log.append("s", "none", [numbered(1)])).rejects.toBe(refusal);
});
