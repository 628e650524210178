/** The positions of consumers in a damaged store: never silently wrong, and never ahead of the events. */

import { join } from "node:path";
import { Level } from "level";
import { expect, it } from "vitest";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { withChecksum } from "../../../src/store/row-engine/rows/commit-record.ts";
import { alone, numberedUpTo } from "../../../src/testing/index.ts";
import { temporaryFolder } from "./disk.ts";

/** Two sessions, a deleted one with the name of the consumer, and the consumer's position. */
async function store(): Promise<string> {
  const dir = await temporaryFolder();
  await using log = await openLog({ dir, durability: "os" });
  await log.append("reader", "none", numberedUpTo(3, 1, alone));
  await log.delete("reader");
  for (const session of ["a", "b"]) await log.append(session, "none", numberedUpTo(9, 1, alone));
  await log.cursors.save("reader", 12);
  return dir;
}

async function tamper(dir: string, change: (rows: Level) => Promise<void>): Promise<void> {
  const rows = new Level(join(dir, "log"));
  await rows.open();
  await change(rows);
  await rows.close();
}

async function cursor(dir: string): Promise<number | undefined> {
  await using log = await openLog({ dir, create: false, durability: "os" });
  return await log.cursors.load("reader");
}

it("stays where it is when a repair mends other rows only", async () => {
  const dir = await store();
  await tamper(dir, (rows) => rows.del("s/a"));
  expect(await repairLog({ dir })).toMatchObject({ changed: true, lost: [] });
  expect(await cursor(dir)).toBe(12);
});

it("is back at the beginning when events are lost, as the order may be another", async () => {
  const dir = await store();
  await tamper(dir, (rows) => rows.del("e/a/000000005"));
  expect(await repairLog({ dir })).toMatchObject({ changed: true });
  expect(await cursor(dir)).toBe(0);
});

it("is refused when its row is altered, not taken for the beginning; repair finds it", async () => {
  const dir = await store();
  await tamper(dir, (rows) => rows.put("r/reader", "0000000 12"));
  await expect(cursor(dir)).rejects.toMatchObject({ code: "LOG_DAMAGED" });
  {
    await using log = await openLog({ dir, create: false, durability: "os" });
    const backup = log.backup(join(await temporaryFolder(), "copy"));
    await expect(backup).rejects.toMatchObject({ code: "LOG_DAMAGED" });
  }
  const { findings } = await repairLog({ dir });
  expect(findings).toEqual(["the stored position of a consumer (r/reader) is altered"]);
  expect(await cursor(dir)).toBe(0);
});

it("is back at the beginning when all is gone that it was told last, as new events take those places", async () => {
  const dir = await store();
  await tamper(dir, async (rows) => {
    const [last = ""] = await rows.keys({ gte: "c/", lt: "c0", reverse: true, limit: 1 }).all();
    await rows.del(last);
    await rows.clear({ gte: "e/b/", lt: "e/b0" });
    await rows.del("s/b");
    await rows.put("r/reader", withChecksum("r/reader", 21));
  });
  expect(await repairLog({ dir })).toMatchObject({ changed: true, events: 9, unaccounted: 9 });
  expect(await cursor(dir)).toBe(0);
});
