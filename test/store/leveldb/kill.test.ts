/** A process that is killed at any moment loses no acknowledged event. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { verifyLog } from "../../../src/archive/verify/index.ts";
import type { EventLog } from "../../../src/events/index.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import type { Durability } from "../../../src/store/leveldb/files/owner.ts";
import { openSqliteLog } from "../../../src/store/sqlite/index.ts";
import { randomFrom, temporaryFolder, timeout, times } from "./disk.ts";
import { startChild } from "./process.ts";

const kills = times(2, 8);

interface Kind {
  readonly ending: string;
  readonly open: (path: string, durability: Durability) => Promise<EventLog>;
  readonly assertSound: (path: string, events: number) => Promise<void>;
}
const levelDb: Kind = {
  ending: "",
  open: (dir, durability) => openLog({ dir, durability }),
  assertSound: async (dir, events) => {
    expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [], events });
  },
};
const sqlite: Kind = {
  ending: ".db",
  open: (file, durability) => openSqliteLog({ file, durability }),
  assertSound: async (file) => {
    await using log = await openSqliteLog({ file });
    expect(await verifyLog(log)).toMatchObject({ problems: [] });
  },
};

for (const [durability, name, { ending, open, assertSound }] of [
  ["sync", "LevelDB", levelDb],
  ["os", "LevelDB", levelDb],
  ["sync", "SQLite", sqlite],
  ["os", "SQLite", sqlite],
] as const) {
  it(
    `keeps every acknowledged event and no gap, killed ${kills} times while it appends (${name}, ${durability})`,
    async () => {
      const root = await temporaryFolder();
      const random = randomFrom(durability.length);
      let known = 0;
      for (let kill = 0; kill < kills; kill++) {
        // A new store after some kills, to spend the time on killing and not on reading.
        if (kill % 20 === 0) known = 0;
        const dir = join(root, `${Math.floor(kill / 20)}${ending}`);
        const child = startChild([
          "append",
          dir,
          durability,
          String(1 + Math.floor(random() * 200)),
        ]);
        // The kill follows an acknowledgement, and falls anywhere in the next batches.
        const moment = known + 1 + Math.floor(random() * 4000);
        await child.line((line) => Number(line) >= moment);
        await child.kill();
        const acknowledged = Number(child.lines.at(-1));

        await using log = await open(dir, durability);
        const numbers = (await Array.fromAsync(log.read("s"))).map(({ time: at }) => at);
        expect(numbers.length).toBeGreaterThanOrEqual(acknowledged);
        expect(numbers).toEqual(numbers.map((_, index) => index + 1));
        expect(await Array.fromAsync(log.list())).toEqual([
          { session: "s", revision: numbers.length, createdAt: 1, updatedAt: numbers.length },
        ]);
        const all = await Array.fromAsync(log.readAll());
        expect(all.map(({ position }) => position)).toEqual(numbers);
        known = numbers.length;
        await log.close();
        await assertSound(dir, known);
      }
    },
    timeout,
  );
}

it(
  `is put right by the next opening, killed ${kills} times while it opens and closes`,
  async () => {
    const dir = await temporaryFolder();
    const random = randomFrom(3);
    let appended = 0;
    for (let kill = 0; kill < kills; kill++) {
      const child = startChild(["open", dir]);
      // With an append behind it: on a busy machine nothing else might be acknowledged.
      let opened = 0;
      await child.line((line) => line === "open" && ++opened > kill % 2);
      // A few file operations, so that the kill falls into opening and closing alike.
      for (let turns = Math.floor(random() * 300); turns > 0; turns--)
        await new Promise((resolve) => setImmediate(resolve));
      await child.kill();
      await using log = await openLog({ dir });
      const revision = await log.revision("s");
      expect(revision - appended).toBeGreaterThanOrEqual(child.lines.length - 1);
      appended = revision;
      expect((await Array.fromAsync(log.read("s"))).length).toBe(revision);
    }
    expect(appended).toBeGreaterThanOrEqual(Math.floor(kills / 2));
    expect((await repairLog({ dir })).findings).toEqual([]);
  },
  timeout,
);
