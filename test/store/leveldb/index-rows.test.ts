/**
 * Index rows are written now and then. Still every reader learns where sessions end, in the process
 * that wrote them and after a kill at any write; and a lost event is noticed.
 */
import { join } from "node:path";
import { Level } from "level";
import { MemoryLevel } from "memory-level";
import { describe, expect, it, vi } from "vitest";
import { createCodec, type NewEvent, type SessionEntry } from "../../../src/events/index.ts";
import { decodeRow, firstLink } from "../../../src/store/event-rows/event-row.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import type { StoreLog } from "../../../src/store/leveldb/level-log.ts";
import { indexRow, readIndex } from "../../../src/store/row-engine/rows/session-rows.ts";
import {
  eventKey,
  parseEventKey,
  sessionKey,
  under,
} from "../../../src/store/row-engine/rows/keys.ts";
import { alone, numbered, numberedUpTo, positionsOf } from "../../../src/testing/index.ts";
import { sampled } from "../../support/runs.ts";
import { damagesIn } from "./copied-rows.ts";
import { copyStore, openRefusal, temporaryFolder, timeout } from "./disk.ts";
import { openFaultyLog, openOver } from "./faulty-database.ts";

type Rows = readonly (readonly [key: string, row: string])[];

const codec = createCodec();

/** The list of sessions, from their events alone. */
function listOf(rows: Rows): readonly SessionEntry[] {
  const sessions = new Map<string, SessionEntry>();
  for (const [key, row] of rows) {
    const place = parseEventKey(key);
    if (place === undefined) continue;
    const { session, position } = place;
    const events = decodeRow(codec, row, place);
    const link = sessions.has(session) ? undefined : firstLink(row, place);
    const entry = sessions.get(session) ?? {
      session,
      createdAt: events[0]?.time ?? 0,
      ...(link === undefined ? {} : { forkedFrom: link }),
    };
    sessions.set(session, { ...entry, revision: position, updatedAt: events.at(-1)?.time ?? 0 });
  }
  return [...sessions.values()];
}

async function listed(log: StoreLog): Promise<readonly SessionEntry[]> {
  return await Array.fromAsync(log.list());
}

async function rowsIn(database: MemoryLevel): Promise<Rows> {
  return await database.iterator().all();
}

async function databaseOf(rows: Rows): Promise<MemoryLevel> {
  const database = new MemoryLevel({ storeEncoding: "utf8" });
  await database.open();
  const batch = database.batch();
  for (const [key, row] of rows) batch.put(key, row);
  await batch.write();
  return database;
}

/** How many sessions have a row that is behind. */
function behindIn(rows: Rows): number {
  const ends = new Map(listOf(rows).map(({ session, revision }) => [session, revision]));
  let behind = 0;
  for (const [key, row] of rows) {
    if (!key.startsWith("s/")) continue;
    const session = key.slice(sessionKey("").length);
    if (readIndex(session, row)?.revision !== ends.get(session)) behind++;
  }
  return behind;
}

/** Appends an event in a batch so large that it ends at a mark. */
async function appendToMark(log: StoreLog, session: string, number: number): Promise<void> {
  const state = "x".repeat(4_200_000);
  const snapshot = { projection: "p", position: 1, version: 1, state } as const;
  await Promise.all([
    log.append(session, "exists", [alone(number)]),
    log.saveSnapshot(session, snapshot),
  ]);
}

function link(session: string, position: number): NewEvent<"session.forked"> {
  return { type: "session.forked", time: 5_000, data: { from: { session, position } } };
}

/** Sessions that begin, continue, branch off and are deleted, over several marks. */
async function work(log: StoreLog): Promise<void> {
  for (const session of ["a", "b", "c"]) await log.append(session, "none", [alone(1), alone(2)]);
  for (let number = 3; number <= 6; number++) {
    for (const session of ["a", "b", "c"]) await log.append(session, "exists", [alone(number)]);
  }
  await log.fork("f", [link("a", 4), alone(7)]);
  await log.fork("g", [link("f", 5)]);
  for (const session of ["f", "g", "b"]) await log.append(session, "exists", [alone(8), alone(9)]);
  await log.delete("a", { forks: "copy" });
  for (const session of ["f", "c", "g"]) await log.append(session, "exists", [alone(10)]);
  // The first mark that is stored is five marks old.
  await log.append("m", "none", [alone(1)]);
  for (let number = 2; number <= 10; number++) {
    await appendToMark(log, "m", number);
    await log.append(`s-${number % 3}`, "any", [alone(number)]);
    await log.append("g", "any", [alone(number)]);
  }
  await log.append("c", "exists", [alone(11)]);
  await log.delete("b");
  await log.append("c", "exists", [alone(12)]);
}

describe("index rows that are behind", () => {
  it(
    "are complete for a process that opens the store after a kill at any write",
    async () => {
      const killed: Rows[] = [];
      const before: { take?: () => Promise<void> } = {};
      const { log, rows } = await openFaultyLog(async (operation) => {
        if (operation === "write") await before.take?.();
      });
      before.take = async () => void killed.push(await rowsIn(rows));
      await work(log);
      killed.push(await rowsIn(rows));
      await log.close();
      for (const [at, left] of sampled(killed, 4).entries()) {
        const truth = listOf(left);
        const database = await databaseOf(left);
        expect(await damagesIn(database)).toEqual([]);
        const { log: again, rows: stored } = await openOver(database);
        expect(await listed(again)).toEqual(truth);
        expect(await damagesIn(stored)).toEqual([]);
        for (const { session, revision } of truth) {
          expect(await again.revision(session)).toBe(revision);
          const appended = await again.append(session, revision, [alone(99)]);
          expect(appended.revision).toBe(revision + 1);
          await again.fork(`fork-of-${session}`, [link(session, revision + 1)]);
        }
        expect(await listed(again)).toEqual(listOf(await rowsIn(stored)));
        if (at % 2 === 0) await expectCopy(again);
        for (const { session } of truth) await again.delete(session, { forks: "copy" });
        const forks = await listed(again);
        expect(forks).toEqual(
          listOf(await rowsIn(stored)).map(({ forkedFrom: _, ...fork }) => fork),
        );
        expect(forks.map(({ session }) => session)).toEqual(
          truth.map(({ session }) => `fork-of-${session}`).toSorted(),
        );
        await again.close();
      }
      expect(killed.length).toBeGreaterThan(50);
      const behind = killed.map(behindIn).reduce((sum, rows) => sum + rows, 0);
      expect(behind).toBeGreaterThan(killed.length);
    },
    timeout,
  );

  it("are in the list, in revisions and in copies as if they were not", async () => {
    const { log, rows } = await openFaultyLog();
    await work(log);
    expect(behindIn(await rowsIn(rows))).toBeGreaterThan(0);
    expect(await listed(log)).toEqual(listOf(await rowsIn(rows)));
    await expectCopy(log);
    await log.close();
  });

  it("are in the list that is being read while they are written", async () => {
    const { log, rows } = await openFaultyLog();
    for (const session of ["a", "b", "c"]) {
      await log.append(session, "none", [numbered(1)]);
      await log.append(session, 1, [numbered(2)]);
    }
    const entries: string[] = [];
    for await (const { session, revision } of log.list()) {
      entries.push(`${session}:${revision}`);
      if (entries.length > 1) continue;
      // Writes the rows of all sessions that are behind.
      await log.delete("a");
      expect(behindIn(await rowsIn(rows))).toBe(0);
    }
    expect(entries).toEqual(["a:2", "b:2", "c:2"]);
    await log.close();
  });

  it("are written too where the events that they do not count are just being written", async () => {
    const gate = Promise.withResolvers<void>();
    const held: { until?: Promise<void> } = {};
    const { log, rows, database } = await openFaultyLog(async (operation) => {
      if (operation === "write") await held.until;
    });
    for (const session of ["a", "s"]) await log.append(session, "none", [numbered(1)]);
    held.until = gate.promise;
    const appended = log.append("s", 1, [numbered(2)]);
    while (database.writing === 0) await Promise.resolve();
    // Its first write, right after the append, takes the rows of all sessions along.
    const deleted = log.delete("a");
    for (let turns = 0; turns < 20; turns++) await Promise.resolve();
    gate.resolve();
    await Promise.all([appended, deleted]);
    expect(behindIn(await rowsIn(rows))).toBe(0);
    expect((await listed(log)).map(({ revision }) => revision)).toEqual([2]);
    await log.close();
  });

  it("are of sessions that had to be forgotten, since there are more than it remembers", async () => {
    const { log, rows } = await openFaultyLog();
    await log.append("s", "none", [numbered(1)]);
    await log.append("s", 1, [numbered(2)]);
    for (let other = 0; other < 9000; other++) await log.revision(`other-${other}`);
    expect(behindIn(await rowsIn(rows))).toBe(1);
    expect(await log.revision("s")).toBe(2);
    expect((await log.append("s", 2, [numbered(3)])).revision).toBe(3);
    for (let other = 0; other < 9000; other++) await log.revision(`other-${other}`);
    expect((await listed(log)).map(({ revision }) => revision)).toEqual([3]);
    await log.close();
  });

  it("are known after a write that failed", async () => {
    const { log, database } = await openFaultyLog();
    await log.append("s", "none", [numbered(1)]);
    await log.append("s", 1, [numbered(2)]);
    database.fail("write", new Error("IO error: no luck"));
    await expect(log.append("s", 2, [numbered(3)])).rejects.toMatchObject({ code: "LOG_FAILED" });
    expect(await log.revision("s")).toBe(2);
    expect(await positionsOf(log.read("s"))).toEqual([1, 2]);
    expect((await listed(log)).map(({ revision }) => revision)).toEqual([2]);
    await log.close();
  });

  it("are known to a copy that is made after a write failed which was to bring them up to date", async () => {
    const { log, rows, database } = await openFaultyLog();
    await log.append("s", "none", [numbered(1)]);
    await log.append("s", 1, [numbered(2)]);
    database.fail("write", new Error("IO error: no luck"));
    await expect(appendToMark(log, "s", 3)).rejects.toMatchObject({ code: "LOG_FAILED" });
    expect(behindIn(await rowsIn(rows))).toBe(1);
    await expectCopy(log);
    await log.close();
  });

  it("are few: as many sessions as there may be, each has one in some megabytes", async () => {
    const { log, rows } = await openFaultyLog();
    const written: string[] = [];
    rows.on("write", (operations) => {
      for (const { key } of operations) if (String(key).startsWith("s/")) written.push(String(key));
    });
    const sessions = Array.from({ length: 100 }, (_, index) => `s-${index}`);
    for (let number = 1; number <= 50; number++)
      await Promise.all(sessions.map((session) => log.append(session, "any", [numbered(number)])));
    expect(written.length).toBe(sessions.length);
    const others = Array.from({ length: 5000 }, (_, index) => `t-${index}`);
    for (let number = 1; number <= 2; number++)
      await Promise.all(others.map((session) => log.append(session, "any", [numbered(number)])));
    await log.append("s-1", "any", [numbered(51)]);
    // The number of sessions that are behind is bounded.
    expect(behindIn(await rowsIn(rows))).toBeLessThan(100);
    await log.close();
  });
});

/** A copy lists the same sessions, with complete index rows. */
async function expectCopy(log: StoreLog): Promise<void> {
  const to = join(await temporaryFolder(), "to");
  await log.backup(to);
  const copy = new Level(join(to, "log"));
  const rows = await copy.iterator().all();
  await copy.close();
  expect(behindIn(rows)).toBe(0);
  await using opened = await openLog({ dir: to });
  expect(await listed(opened)).toEqual(await listed(log));
}

/**
 * A store with a session of 20 events from before its last close, and 5 from after; open, or
 * killed.
 */
async function killedStore(): Promise<string> {
  const root = await temporaryFolder();
  const before = await openLog({ dir: join(root, "open") });
  await before.append("s", "none", numberedUpTo(20, 1, alone));
  await before.append("t", "none", numberedUpTo(20, 1, alone));
  await before.close();
  const log = await openLog({ dir: join(root, "open") });
  await log.append("s", 20, numberedUpTo(5, 21, alone));
  const dir = join(root, "killed");
  await copyStore(join(root, "open"), dir);
  await log.close();
  return dir;
}

async function change(dir: string, act: (rows: Level) => Promise<void>): Promise<void> {
  const rows = new Level(join(dir, "log"));
  await rows.open();
  await act(rows);
  await rows.close();
}

function rowAt(revision: number): string {
  const entry = {
    revision,
    createdAt: alone(1).time,
    updatedAt: alone(revision).time,
    link: undefined,
  };
  return indexRow("s", entry).row;
}

describe("a killed store", () => {
  it("has its index rows corrected by the process that opens it to write, and only by that", async () => {
    const dir = await killedStore();
    await change(dir, async (rows) => {
      expect(await rows.get(sessionKey("s"))).toBe(rowAt(20));
    });
    expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [], events: 45 });
    await change(dir, async (rows) => {
      expect(await rows.get(sessionKey("s"))).toBe(rowAt(20));
    });
    const log = await openLog({ dir });
    expect((await listed(log)).map(({ revision }) => revision)).toEqual([25, 20]);
    await log.close();
    await change(dir, async (rows) => {
      expect(await rows.get(sessionKey("s"))).toBe(rowAt(25));
    });
  });

  it("is refused and left as it was where there is no space for its index rows", async () => {
    const dir = await killedStore();
    const write = vi.spyOn(Level.prototype, "batch").mockImplementation(() => {
      throw new Error("IO error: No space left on device");
    });
    const error = await openRefusal("LOG_FULL", dir);
    expect(write).toHaveBeenCalledOnce();
    expect(error.message).toContain("Free some space");
    write.mockRestore();
    await using log = await openLog({ dir });
    expect((await listed(log)).map(({ revision }) => revision)).toEqual([25, 20]);
  });

  it("is as it was where its index rows are right, as releases wrote them that did so with each commit", async () => {
    const dir = await killedStore();
    await change(dir, async (rows) => {
      await rows.put(sessionKey("s"), rowAt(25));
    });
    const log = await openLog({ dir });
    expect((await listed(log)).map(({ revision }) => revision)).toEqual([25, 20]);
    expect(await positionsOf(log.read("s"))).toHaveLength(25);
    await log.append("s", 25, [alone(26)]);
    await log.close();
    expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [], events: 46 });
  });

  it.each([
    ["the last event of all is lost", eventKey("s", 25), undefined, /s:25.*end at 24.*says 25/],
    [
      "all that its index row does not count is lost",
      "behind",
      undefined,
      /s:21.*end at 20.*says 25/,
    ],
    [
      "its index row is older than the mark",
      sessionKey("s"),
      rowAt(19),
      /s:20.*end at 25.*says 19/,
    ],
    [
      "its index row counts events that do not exist",
      sessionKey("s"),
      rowAt(26),
      /s:26.*end at 25.*says 26/,
    ],
    ["its index row is lost", sessionKey("s"), undefined, /s:25.*index row/],
  ])("is damaged for readers of the session where %s", async (_what, key, row, message) => {
    const dir = await killedStore();
    await change(dir, async (rows) => {
      if (row !== undefined) await rows.put(key, row);
      else if (key === "behind") await rows.clear({ gte: eventKey("s", 21), lt: under("e/s/").lt });
      else await rows.del(key);
    });
    const log = await openLog({ dir });
    const reading = [
      log.revision("s"),
      positionsOf(log.read("s")),
      log.append("s", "any", [alone(0)]),
    ];
    for (const outcome of await Promise.allSettled(reading)) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "LOG_DAMAGED" } });
      expect(outcome.status === "rejected" && String(outcome.reason)).toMatch(message);
    }
    // The other sessions are not affected.
    expect((await log.append("t", 20, [alone(21)])).revision).toBe(21);
    await log.close();
    const { changed, findings } = await repairLog({ dir });
    expect(changed).toBe(true);
    expect(findings.join()).toMatch(/\bs\b/);
  });

  it("is damaged where the last event is lost that its index row counts", async () => {
    const dir = await killedStore();
    await change(dir, (rows) => rows.del(eventKey("t", 20)));
    const log = await openLog({ dir });
    await expect(log.revision("t")).rejects.toThrow(/t:20.*end at 19.*says 20/);
    expect(await log.revision("s")).toBe(25);
    await log.close();
  });
});
