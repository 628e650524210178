/**
 * A session that comes in parts is stored completely or not at all, whenever its process dies and
 * whatever its source does.
 */

import { join } from "node:path";
import { expect, it } from "vitest";
import { encryptedLog } from "../../../src/store/encryption/encrypting-log.ts";
import { memoryKeys } from "../../../src/store/encryption/key-store.ts";
import type { EventLog, NewEvent } from "../../../src/events/index.ts";
import { openLog, openMemoryLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { verifyLog } from "../../../src/public/index.ts";
import { numbered } from "../../../src/testing/index.ts";
import { sampled } from "../../support/runs.ts";
import { copyStore, temporaryFolder } from "./disk.ts";

const PARTS = 5;
/** Large enough for several commits of a megabyte, and for marks in their chain. */
const SIZE = 1_500_000;

function part(index: number, size = SIZE): readonly NewEvent[] {
  const text = `${index}`.repeat(size);
  return [
    numbered(2 * index + 1),
    { type: "part.raw", time: index, data: { rawValue: text }, id: `once-${index}` },
  ];
}

/** Reports before each part how many came before. */
async function* partsOf(
  before: (count: number) => Promise<void>,
  size = SIZE,
): AsyncGenerator<readonly NewEvent[]> {
  for (let index = 0; index < PARTS; index++) {
    await before(index);
    yield part(index, size);
  }
  await before(PARTS);
}

/** Appends parts to a log, which must support it. */
async function append(
  log: EventLog,
  parts: AsyncIterable<readonly NewEvent[]>,
): Promise<{ readonly revision: number; readonly position: number }> {
  if (log.appendParts === undefined) throw new Error("It takes no parts.");
  return await log.appendParts("s", parts, { origin: "copied" });
}

/** Expects only the event from before. */
async function expectNothing(log: EventLog): Promise<void> {
  expect((await Array.fromAsync(log.list())).map(({ session }) => session)).toEqual(["before"]);
  expect(await log.revision("s")).toBe(0);
  expect(await Array.fromAsync(log.read("s"))).toEqual([]);
  expect(await Array.fromAsync(log.readAll())).toHaveLength(1);
}

async function withOne(log: EventLog): Promise<EventLog> {
  await log.append("before", "none", [numbered(1)]);
  return log;
}

it("shows nothing of it before its end, and lets others append meanwhile", async () => {
  for (const open of [
    openMemoryLog,
    async () => encryptedLog(await openMemoryLog(), memoryKeys()),
  ]) {
    await using log = await withOne(await open());
    let other: unknown;
    const parts = partsOf(async (count) => {
      if (count < PARTS) await expectNothing(log);
      else other = await log.append("other", "none", [numbered(1)]);
    });
    const { revision, position } = await append(log, parts);
    expect([revision, position]).toEqual([2 * PARTS, 2 * PARTS + 2]);
    expect(other).toMatchObject({ position: 2 });
    const all = Array.from({ length: PARTS }, (_, index) => part(index)).flat();
    expect(await Array.fromAsync(log.read("s"))).toMatchObject(all);
    expect((await Array.fromAsync(log.list())).map(({ session }) => session)).toEqual([
      "before",
      "other",
      "s",
    ]);
    expect(await log.append("s", 2 * PARTS, [numbered(1)])).toMatchObject({
      position: position + 1,
    });
    await expect(
      append(
        log,
        partsOf(async () => {}),
      ),
    ).rejects.toMatchObject({
      code: "REVISION_CONFLICT",
    });
  }
});

it("leaves nothing where its source fails, and continues as if it had never begun", async () => {
  const dir = await temporaryFolder();
  const counts = sampled([...Array(PARTS + 1).keys()], 1);
  for (const count of counts) {
    await using log = await openLog({ dir: join(dir, `${count}`), durability: "os" });
    await withOne(log);
    const parts = partsOf(async (index) => {
      if (index === count) throw new Error("The file ends here.");
    });
    await expect(append(log, parts)).rejects.toThrow("ends here");
    await expectNothing(log);
    expect(await log.append("other", "none", [numbered(1)])).toMatchObject({ position: 2 });
    const again = await append(
      log,
      partsOf(async () => {}),
    );
    expect(again).toMatchObject({ revision: 2 * PARTS, position: 2 * PARTS + 2 });
  }
  for (const count of counts) {
    await using log = await openLog({ dir: join(dir, `${count}`) });
    const { problems, sessions } = await verifyLog(log);
    expect(problems).toEqual([]);
    expect(sessions).toHaveLength(3);
  }
});

it("leaves nothing that opening, reading or repair finds when its process dies", async () => {
  const dir = await temporaryFolder();
  const died: string[] = [];
  await using log = await withOne(await openLog({ dir: join(dir, "living"), durability: "os" }));
  const parts = partsOf(async (index) => {
    const copy = join(dir, `died-${index}`);
    await copyStore(join(dir, "living"), copy);
    died.push(copy);
    // So little that LevelDB does not touch its files meanwhile.
  }, 50_000);
  await append(log, parts);
  expect(died).toHaveLength(PARTS + 1);
  for (const copy of died) {
    {
      await using read = await openLog({ dir: copy, readOnly: true });
      await expectNothing(read);
    }
    expect((await repairLog({ dir: copy })).findings).toEqual([]);
    await using opened = await openLog({ dir: copy });
    await expectNothing(opened);
    const backup = await opened.backup(`${copy}-backup`);
    expect(backup).toMatchObject({ sessions: 1, position: 1 });
    expect(
      await append(
        opened,
        partsOf(async () => {}),
      ),
    ).toMatchObject({ position: 2 * PARTS + 1 });
    expect((await verifyLog(opened)).problems).toEqual([]);
  }
});

it("is in a backup as a whole or not at all", async () => {
  const dir = await temporaryFolder();
  await using log = await openLog({ dir: join(dir, "living"), durability: "os" });
  await withOne(log);
  const backup = (name: string) => log.backup(join(dir, name));
  const made: unknown[] = [];
  const parts = partsOf(async (count) => void made.push(await backup(`${count}`)));
  await append(log, parts);
  for (const before of made) expect(before).toMatchObject({ sessions: 1, events: 1 });
  expect(await backup("after")).toMatchObject({ sessions: 2, events: 2 * PARTS + 1 });
});
