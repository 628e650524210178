/** What repair keeps, what it sets aside, and what it says of both. */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Level } from "level";
import { expect, it } from "vitest";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { alone, numbered, numberedUpTo, positionsOf, stored } from "../../../src/testing/index.ts";
import { copyStore, fingerprint, temporaryFolder } from "./disk.ts";

/** Two sessions that take turns, an event with an id, a snapshot of each. */
async function store(dir: string): Promise<void> {
  await using log = await openLog({ dir });
  for (let number = 1; number <= 20; number++) {
    await log.append("a", "any", [number === 15 ? alone(number, "id-15") : alone(number)]);
    await log.append("b", "any", [alone(number)]);
  }
  for (const session of ["a", "b"]) {
    await log.saveSnapshot(session, {
      projection: "early",
      version: 1,
      position: 5,
      state: "early",
    });
    await log.saveSnapshot(session, {
      projection: "late",
      version: 1,
      position: 19,
      state: "late",
    });
  }
}

/** Changes rows behind the log's back. */
async function tamper(dir: string, change: (rows: Level) => Promise<void>): Promise<void> {
  const rows = new Level(join(dir, "log"));
  await rows.open();
  await change(rows);
  await rows.close();
}

async function rowsUnder(dir: string, prefix: string): Promise<string[]> {
  const rows = new Level(join(dir, "log"));
  const keys = await rows.keys({ gte: prefix, lt: `${prefix}~` }).all();
  await rows.close();
  return keys;
}

it("finds nothing wrong with a good store, and changes nothing", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  const before = await fingerprint(dir);
  expect(await repairLog({ dir })).toEqual({
    dir,
    changed: false,
    findings: [],
    lost: [],
    sessions: 2,
    events: 40,
    quarantined: 0,
    missing: 0,
    unaccounted: 0,
    blobs: 0,
    lostBlobs: [],
  });
  expect(await fingerprint(dir)).toEqual(before);
});

it("keeps a session up to its first gap, leaves later rows in the damaged files, and other sessions whole", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  await tamper(dir, (rows) => rows.del("e/a/00000000b"));
  const report = await repairLog({ dir });
  expect(report).toMatchObject({
    changed: true,
    lost: [{ session: "a", kept: 10, lostFrom: 11, quarantined: 9, missing: 1 }],
    sessions: 2,
    events: 30,
    quarantined: 9,
    missing: 1,
  });
  expect(report.findings).toEqual(["a:11: the event is missing", "1 snapshots cannot be used"]);
  expect(await rowsUnder(dir, "e/a/")).toHaveLength(10);

  await using log = await openLog({ dir });
  expect(await Array.fromAsync(log.read("a"))).toEqual(stored(numberedUpTo(10, 1, alone)));
  expect(await Array.fromAsync(log.read("b"))).toEqual(stored(numberedUpTo(20, 1, alone)));
  const all = await Array.fromAsync(log.readAll());
  // The order is the old one without what was lost.
  expect(all.slice(0, 22).map(({ session, event }) => session + event.position)).toEqual([
    ...Array.from({ length: 10 }, (_, index) => [`a${index + 1}`, `b${index + 1}`]).flat(),
    "b11",
    "b12",
  ]);
  expect(all).toHaveLength(30);
  // The snapshot that knew more is gone, and so is the id that stood behind the gap.
  expect((await log.loadSnapshot("a", "early"))?.state).toBe("early");
  expect(await log.loadSnapshot("a", "late")).toBeUndefined();
  expect((await log.loadSnapshot("b", "late"))?.state).toBe("late");
  expect(await log.append("a", 10, [alone(15, "id-15")])).toEqual({
    revision: 11,
    position: 31,
    repeated: false,
  });
});

it("tells what was lost at the end of a session, and of sessions of which nothing is left", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  await tamper(dir, async (rows) => {
    await rows.del("e/a/00000000j");
    await rows.del("e/a/00000000k");
    await rows.clear({ gte: "e/b/", lt: "e/b0" });
  });
  expect(await repairLog({ dir })).toMatchObject({
    lost: [
      { session: "a", kept: 18, lostFrom: 19, quarantined: 0, missing: 2 },
      { session: "b", kept: 0, lostFrom: 1, quarantined: 0, missing: 20 },
    ],
    sessions: 1,
    events: 18,
  });
  await using log = await openLog({ dir });
  expect(
    (await Array.fromAsync(log.list())).map(({ session, revision }) => [session, revision]),
  ).toEqual([["a", 18]]);
  expect(await positionsOf(log.read("b"))).toEqual([]);
  expect(await log.append("b", "none", [numbered(1)])).toMatchObject({ revision: 1, position: 19 });
});

it("writes index rows, event ids and the global order anew from the events alone", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  await tamper(dir, async (rows) => {
    for (const prefix of ["s", "i", "c"]) await rows.clear({ gte: `${prefix}/`, lt: `${prefix}0` });
  });
  expect(await repairLog({ dir })).toMatchObject({
    changed: true,
    lost: [],
    sessions: 2,
    events: 40,
  });
  await using log = await openLog({ dir });
  expect(await Array.fromAsync(log.list())).toEqual(
    ["a", "b"].map((session) => ({ session, revision: 20, createdAt: 1001, updatedAt: 1020 })),
  );
  expect((await Array.fromAsync(log.readAll())).map(({ position }) => position)).toHaveLength(40);
  expect(await log.append("a", "any", [alone(15, "id-15")])).toMatchObject({
    revision: 15,
    repeated: true,
  });
});

it("takes no row for an event of another session or of another position", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  await tamper(dir, async (rows) => {
    const row = (await rows.get("e/a/000000005")) ?? "";
    await rows.put("e/b/000000005", row);
    await rows.put("e/a/000000006", row);
    await rows.put("e/c/000000005", row);
    await rows.put("e/c/000000001", row);
    await rows.put("e/nonsense", row);
    await rows.put("x", row);
  });
  expect(await repairLog({ dir })).toMatchObject({
    lost: [
      { session: "a", kept: 5 },
      { session: "b", kept: 4 },
    ],
    sessions: 2,
    events: 9,
    quarantined: 35,
  });
  expect(await rowsUnder(dir, "e/")).toHaveLength(9);
  await using log = await openLog({ dir });
  expect(await Array.fromAsync(log.read("a"))).toEqual(stored(numberedUpTo(5, 1, alone)));
  expect(await log.revision("c")).toBe(0);
});

it("drops a snapshot that cannot be read, and nothing else", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  await tamper(dir, (rows) => rows.put("n/a/early", "0000000{}"));
  await using log = await openLog({ dir });
  expect(await log.loadSnapshot("a", "early")).toBeUndefined();
  expect((await log.loadSnapshot("a", "late"))?.state).toBe("late");
  await log.close();
  expect(await repairLog({ dir })).toMatchObject({ changed: true, lost: [], events: 40 });
  expect(await rowsUnder(dir, "n/")).toEqual(["n/a/late", "n/b/early", "n/b/late"]);
});

it("keeps the damaged files beside the store, each time under a new name", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  for (const name of ["log.damaged-1", "log.damaged-2"]) {
    await rm(join(dir, "log", "CURRENT"));
    const before = await fingerprint(join(dir, "log"));
    const report = await repairLog({ dir });
    expect(report).toMatchObject({
      changed: true,
      lost: [],
      events: 40,
      damagedFiles: join(dir, name),
    });
    expect(await fingerprint(join(dir, name))).toEqual(before);
  }
});

it("puts a lost or unreadable store.json back, when the log says that it is ours", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  await rm(join(dir, "store.json"));
  await expect(openLog({ dir })).rejects.toMatchObject({ code: "LOG_FOREIGN" });
  expect(await repairLog({ dir })).toMatchObject({
    changed: true,
    lost: [],
    findings: ["store.json is missing"],
  });
  await writeFile(join(dir, "store.json"), "{");
  expect(await repairLog({ dir })).toMatchObject({ changed: true, lost: [], events: 40 });
  await using log = await openLog({ dir });
  expect(await log.revision("a")).toBe(20);
});

it("says that there is nothing to repair where there is no log", async () => {
  const dir = await temporaryFolder();
  await expect(repairLog({ dir })).rejects.toMatchObject({ code: "LOG_NOT_FOUND" });
  await expect(repairLog({ dir: join(dir, "none") })).rejects.toMatchObject({
    code: "LOG_NOT_FOUND",
  });
  expect(await fingerprint(dir)).toEqual({});
});

it("reports lost events also when their records are lost", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  const log = join(dir, "log");
  const kept = await rowsUnder(dir, "e/a/");
  await tamper(dir, async (rows) => {
    for (const [key] of await rows.iterator().all())
      if (/^(?:[enis]\/b\b|c\/)/.test(key)) await rows.del(key);
  });
  const report = await repairLog({ dir });
  expect(report).toMatchObject({ changed: true, lost: [], events: kept.length, unaccounted: 20 });
  expect(await repairLog({ dir })).toMatchObject({ changed: false, unaccounted: 0 });
  expect(Object.keys(await fingerprint(log))).toContain("CURRENT");
});

it.each([
  ["the folder of the log", "log"],
  ["all that is in it", "log/."],
])("says of a store without %s what opening says, and changes nothing", async (_name, gone) => {
  const dir = await temporaryFolder();
  await store(dir);
  const emptied = join(dir, gone);
  await rm(emptied.replace(/\/\.$/, ""), { recursive: true });
  if (gone.endsWith(".")) await mkdir(join(dir, "log"));
  const before = await fingerprint(dir);
  const refusals = await Promise.all(
    [openLog, repairLog].map((act) => act({ dir }).catch((error: unknown) => error)),
  );
  for (const refusal of refusals) {
    expect(refusal).toMatchObject({ code: "LOG_DAMAGED" });
    expect(String(refusal)).toMatch(/All events .* are gone \(it had 40\).*from a backup/);
  }
  expect(String(refusals[0])).toBe(String(refusals[1]));
  expect(await fingerprint(dir)).toEqual(before);
});

it("finds nothing to repair in a store that has no log yet", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  for (const name of ["log", "store.reached"]) await rm(join(dir, name), { recursive: true });
  const mark = { format: 1, generation: 1, reached: { position: 0, seal: "" } };
  await writeFile(join(dir, "store.json"), JSON.stringify(mark));
  const before = await fingerprint(dir);
  await expect(repairLog({ dir })).rejects.toMatchObject({ code: "LOG_NOT_FOUND" });
  expect(await fingerprint(dir)).toEqual(before);
});

it("repairs the log as it was before an opening that died, and sets aside what that made of it", async () => {
  const dir = await temporaryFolder();
  await store(dir);
  await copyStore(join(dir, "log"), join(dir, "log.before-open"));
  await tamper(dir, (rows) => rows.del("e/a/00000000b"));
  expect(await repairLog({ dir })).toMatchObject({ lost: [], events: 40 });
  const names = await readdir(dir);
  expect(names).not.toContain("log.before-open");
  expect(names.filter((name) => name.startsWith("log.damaged"))).toHaveLength(1);
});
