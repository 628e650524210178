/** Damage to a store with forks: who is concerned, what they are told, and what repair makes of it. */
import { join } from "node:path";
import { Level } from "level";
import { expect, it } from "vitest";
import { indexRow } from "../../../src/store/row-engine/rows/session-rows.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { fails, forked, numbered, positionsOf, stored } from "../../../src/testing/index.ts";
import { temporaryFolder } from "./disk.ts";

/** `p` with ten events, a fork at 3 and one at 8, and a fork of the latter at 9. */
async function family(dir: string): Promise<void> {
  await using log = await openLog({ dir });
  for (let number = 1; number <= 10; number++)
    await log.append("p", number - 1, [numbered(number, `id-${number}`)]);
  await log.fork("early", [forked("p", 3), numbered(30)]);
  await log.fork("late", [forked("p", 8), numbered(80)]);
  await log.fork("later", [forked("late", 9), numbered(90)]);
}

/** Changes rows behind the log's back. */
async function tamper(dir: string, change: (rows: Level) => Promise<unknown>): Promise<void> {
  const rows = new Level(join(dir, "log"));
  await rows.open();
  await change(rows);
  await rows.close();
}

it("says of an event that a fork shares and cannot read where it is, and reads forks that do not share it", async () => {
  const dir = await temporaryFolder();
  await family(dir);
  await tamper(dir, (rows) => rows.del("e/p/000000005"));
  await using log = await openLog({ dir });
  expect(await positionsOf(log.read("early"))).toEqual([1, 2, 3, 4, 5]);
  for (const session of ["late", "later"]) {
    const error = await fails("LOG_DAMAGED", () => positionsOf(log.read(session)));
    expect(error).toMatchObject({ session, position: 5, details: { owner: "p" } });
    expect(error.message).toContain(session);
    expect(error.message).toContain("p:5");
    const alone = await fails("LOG_DAMAGED", () => log.readAt(session, [4, 5]));
    expect(alone).toMatchObject({ session, position: 5, details: { owner: "p" } });
    expect(await log.readAt(session, [6, 4])).toHaveLength(2);
    expect(await positionsOf(log.read(session, { from: 6, to: 8 }))).toEqual([6, 7, 8]);
  }
});

it("reads a fork although the session that it branches off has lost its end", async () => {
  const dir = await temporaryFolder();
  await family(dir);
  await tamper(dir, (rows) => rows.del("e/p/00000000a"));
  await using log = await openLog({ dir });
  await fails("LOG_DAMAGED", () => positionsOf(log.read("p")));
  expect(await positionsOf(log.read("later"))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

it("refuses to read what a fork shares when nothing says whether the other session is a fork too", async () => {
  const dir = await temporaryFolder();
  await family(dir);
  await tamper(dir, (rows) => rows.put("s/late", "altered"));
  await using log = await openLog({ dir });
  const error = await fails("LOG_DAMAGED", () => positionsOf(log.read("later")));
  expect(error).toMatchObject({ session: "later", details: { owner: "late" } });
  expect(await positionsOf(log.read("early"))).toEqual([1, 2, 3, 4, 5]);
});

it("says so when links go round in a circle", async () => {
  const dir = await temporaryFolder();
  await family(dir);
  const { key, row } = indexRow("p", {
    revision: 10,
    createdAt: 1001,
    updatedAt: 1010,
    link: { session: "later", position: 9 },
  });
  await tamper(dir, (rows) => rows.put(key, row));
  await using log = await openLog({ dir });
  const error = await fails("LOG_DAMAGED", () => positionsOf(log.read("later")));
  expect(error.message).toContain("circle");
});

it("repairs a store with forks: keeps those whose shared events are kept, and sets the others aside", async () => {
  const dir = await temporaryFolder();
  await family(dir);
  await tamper(dir, (rows) => rows.del("e/p/000000005"));
  const report = await repairLog({ dir });
  expect(report).toMatchObject({ changed: true, sessions: 2, events: 4 + 2 });
  expect(report.lost).toEqual([
    { session: "late", kept: 0, lostFrom: 9, quarantined: 2, missing: 0 },
    { session: "later", kept: 0, lostFrom: 10, quarantined: 2, missing: 0 },
    { session: "p", kept: 4, lostFrom: 5, quarantined: 5, missing: 1 },
  ]);
  const log = await openLog({ dir });
  expect(await Array.fromAsync(log.read("early"))).toEqual(
    stored([
      ...[1, 2, 3].map((number) => numbered(number, `id-${number}`)),
      forked("p", 3),
      numbered(30),
    ]),
  );
  expect(await positionsOf(log.read("late"))).toEqual([]);
  expect((await log.append("early", 5, [numbered(2, "id-2")])).repeated).toBe(true);
  await log.close();
  expect((await repairLog({ dir })).findings).toEqual([]);
});

it("finds the links of forks again in their events when index rows are lost", async () => {
  const dir = await temporaryFolder();
  await family(dir);
  const truth = await contents(dir);
  await tamper(dir, async (rows) => {
    for (const session of ["p", "late", "later"]) await rows.del(`s/${session}`);
  });
  expect(await repairLog({ dir })).toMatchObject({ changed: true, lost: [], missing: 0 });
  expect(await contents(dir)).toEqual(truth);
});

it("does not take a session for a fork that was imported with the events it once shared, and lost them", async () => {
  const dir = await temporaryFolder();
  await family(dir);
  const log = await openLog({ dir });
  const events = (await Array.fromAsync(log.read("late"))).map(
    ({ position: _, ...event }) => event,
  );
  for (const [index, event] of events.entries()) await log.append("imported", index, [event]);
  await log.close();
  await tamper(dir, async (rows) => {
    for (let position = 1; position <= 8; position++)
      await rows.del(`e/imported/00000000${position}`);
  });
  const report = await repairLog({ dir });
  expect(report.lost).toMatchObject([{ session: "imported", kept: 0, quarantined: 2, missing: 8 }]);
});

async function contents(dir: string): Promise<unknown> {
  await using log = await openLog({ dir });
  const list = await Array.fromAsync(log.list());
  const events = list.map(({ session }) => Array.fromAsync(log.read(session)));
  const order = await Array.fromAsync(log.readAll());
  return { list, events: await Promise.all(events), order };
}
