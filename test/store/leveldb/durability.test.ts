/** A `sync` store syncs an append before it acknowledges it, so that it survives a power cut. */

import { join } from "node:path";
import { Level } from "level";
import { expect, it, vi } from "vitest";
import type { StoreLog } from "../../../src/store/leveldb/level-log.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { alone, forked, numbered, numberedUpTo } from "../../../src/testing/index.ts";
import { temporaryFolder } from "./disk.ts";

interface Watched extends Disposable {
  /** Of each batch, whether it was synced. */
  readonly synced: boolean[];
}

/** Records for each of LevelDB's batches whether it is synced. */
async function watchBatches(): Promise<Watched> {
  const level = new Level(join(await temporaryFolder(), "any"));
  await level.open();
  const batch = level.batch();
  const prototype = Object.getPrototypeOf(batch) as typeof batch;
  await batch.close();
  await level.close();
  const synced: boolean[] = [];
  const write = prototype.write;
  const spy = vi.spyOn(prototype, "write").mockImplementation(function (
    this: typeof batch,
    options?: object,
  ) {
    synced.push(options !== undefined && "sync" in options && options.sync === true);
    return Reflect.apply(write, this, [options]) as Promise<void>;
  });
  return { synced, [Symbol.dispose]: () => spy.mockRestore() };
}

/** Every change of a log, and what resolves once it is durable. */
const changes: Readonly<Record<string, (log: StoreLog) => Promise<unknown>>> = {
  "a first append": (log) => log.append("new", "none", [numbered(1)]),
  "an append": (log) => log.append("s", "any", [numbered(1)]),
  "an append with an id": (log) => log.append("s", "any", [numbered(1, "id")]),
  "a single event": (log) => log.append("s", "any", [alone(1)]),
  "appends of several sessions": (log) =>
    Promise.all(["s", "t", "u"].map((session) => log.append(session, "any", numberedUpTo(3)))),
  "a fork": (log) => log.fork("f", [forked("s", 2)]),
  "a deletion": (log) => log.delete("s", { forks: "copy" }),
};

it("syncs every change before it resolves", async () => {
  const dir = await temporaryFolder();
  await using log = await openLog({ dir });
  await log.append("s", "none", numberedUpTo(3));
  using watched = await watchBatches();
  const { synced } = watched;
  for (const [name, change] of Object.entries(changes)) {
    synced.length = 0;
    await change(log);
    expect([name, synced.length > 0, synced.includes(false)]).toEqual([name, true, false]);
  }
});

it("syncs nothing in between where only the death of the process is to be survived", async () => {
  const dir = await temporaryFolder();
  await using log = await openLog({ dir, durability: "os" });
  using watched = await watchBatches();
  const { synced } = watched;
  await log.append("s", "none", numberedUpTo(3));
  await log.append("s", 3, [numbered(4)]);
  expect(synced).toEqual([false, false]);
});

it("syncs the first row and the last mark of any store, since store.json says that they are there", async () => {
  const dir = await temporaryFolder();
  using watched = await watchBatches();
  const { synced } = watched;
  const log = await openLog({ dir, durability: "os" });
  expect(synced).toEqual([true]);
  await log.append("s", "none", [numbered(1)]);
  synced.length = 0;
  await log.close();
  expect(synced).toContain(true);
});
