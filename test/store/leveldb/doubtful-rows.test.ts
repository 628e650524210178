/** Repair keeps the rows of damaged blocks and batches whose own checksum holds, and loses those that are altered. */
import { join } from "node:path";
import { MemoryLevel } from "memory-level";
import { expect, it } from "vitest";
import type { NewEvent } from "../../../src/events/index.ts";
import { StoreCopy } from "../../../src/store/leveldb/copy/store-copy.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { alone, numberedUpTo } from "../../../src/testing/index.ts";
import { copyStore, flipBit, logFiles, randomFrom, temporaryFolder, times } from "./disk.ts";
import { openFaultyLog, openOver } from "./faulty-database.ts";

const EVENTS = 400;

/** One batch of events that cannot be compressed, the same in every run, in LevelDB's log file or in a table. */
async function store(isClosed: boolean): Promise<string> {
  const root = await temporaryFolder();
  const [live, dir] = [join(root, "live"), join(root, "store")];
  const log = await openLog({ dir: live });
  const random = randomFrom(7);
  const byte = (): number => Math.floor(random() * 256);
  const text = (): string => Buffer.from(Array.from({ length: 90 }, byte)).toString("base64");
  const event = (): NewEvent => ({
    type: "message.queued",
    time: 1,
    data: { id: text(), content: text(), delivery: "steer" },
  });
  await log.append("s", "none", Array.from({ length: EVENTS }, event));
  // Damage at the end is what a crash leaves.
  await log.append("t", "none", numberedUpTo(3, 1, alone));
  if (isClosed) await log.close();
  await copyStore(live, dir);
  await log.close();
  return dir;
}

it.each([
  ["a batch of LevelDB's log file", /\.log$/, false],
  ["a block of a table", /\.ldb$/, true],
])("loses one event with a flipped bit in %s", async (_name, ending, isClosed) => {
  const template = await store(isClosed);
  const random = randomFrom(3);
  const losses: number[] = [];
  for (let trial = 0; trial < Math.max(12, times(12, 60)); trial++) {
    const dir = join(await temporaryFolder(), "store");
    await copyStore(template, dir);
    const [file] = await logFiles(dir, ending);
    if (file === undefined) throw new Error(`no file ${String(ending)}`);
    // Somewhere in the events, which are most of the file.
    await flipBit(file.path, Math.floor(file.size * (0.1 + random() * 0.7)), 1);
    const { events, lost } = await repairLog({ dir });
    const { quarantined, missing } = lost[0] ?? { quarantined: 0, missing: 0 };
    expect(events + quarantined + missing).toBe(EVENTS + 3);
    losses.push(missing);
  }
  // A length or a key that is altered spoils more.
  const few = losses.filter((missing) => missing <= 1);
  expect(few.length).toBeGreaterThanOrEqual(losses.length * 0.75);
  expect(losses).toContain(1);
});

it("keeps a merged row that stands beside the rows that it replaced", async () => {
  const { log, rows } = await openFaultyLog();
  const delta = (text: string) =>
    ({ type: "part.text-delta", time: 1, data: { id: "0", text } }) as const;
  await log.append("s", "none", [alone(1)]);
  const before = new Map<string, string>();
  for (let number = 2; number <= 60; number++) {
    await log.append("s", number - 1, [delta(String(number))]);
    for await (const [key, row] of rows.iterator({ gte: "e/", lt: "e0" }))
      if (!before.has(key)) before.set(key, row);
  }
  for (const number of [61, 62, 63]) await log.append("s", number - 1, [alone(number)]);
  const truth = await Array.fromAsync(log.read("s"));
  await log.close();
  await rows.open();
  const replaced: string[] = [];
  for (const [key, row] of before) {
    if ((await rows.get(key)) !== undefined) continue;
    replaced.push(key);
    await rows.put(key, row);
  }
  expect(replaced.length).toBeGreaterThan(10);
  const target = new MemoryLevel({ storeEncoding: "utf8" });
  await target.open();
  const copy = new StoreCopy(rows, target, { indexed: 0, onDamage: () => {} });
  await copy.write();
  expect(copy.events).toBe(63);
  const { log: copied } = await openOver(target);
  expect(await Array.fromAsync(copied.read("s"))).toEqual(truth);
  expect(await Array.fromAsync(copied.readAll())).toHaveLength(63);
});
