/** Sessions that branch: what is read, what is written, and what a killed process leaves. */
import { join } from "node:path";
import fc from "fast-check";
import { Level } from "level";
import { expect, it } from "vitest";
import { checkChain } from "../../../src/store/row-engine/read/chain-check.ts";
import { chainStart } from "../../../src/store/row-engine/rows/commit-record.ts";
import { openLog, openMemoryLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { forked, numbered, numberedUpTo, positionsOf } from "../../../src/testing/index.ts";
import { patience, runs } from "../../support/runs.ts";
import { rewritten } from "./copied-rows.ts";
import { temporaryFolder } from "./disk.ts";
import { openFaultyLog, openOver } from "./faulty-database.ts";
import { action, expectGrove, Grove } from "./grove.ts";
import { startChild } from "./process.ts";

const range = fc.tuple(fc.nat(), fc.nat());
const grown = fc.tuple(
  fc.array(action, { maxLength: 40 }),
  fc.array(range, { minLength: 4, maxLength: 4 }),
);

it(
  "agrees with copies of the events, however sessions branch",
  async () => {
    await fc.assert(
      fc.asyncProperty(grown, async ([actions, ranges]) => {
        const { log, rows } = await openFaultyLog();
        const grove = new Grove();
        for (const next of actions) if (next.do !== "reopen") await grove.act(log, next);
        await expectGrove(grove, log, ranges);
        // Repair would make the same store.
        const mended = await rewritten(rows);
        await checkChain(mended, chainStart);
        await expectGrove(grove, (await openOver(mended)).log, ranges);
      }),
      runs(15, 30),
    );
  },
  patience,
);

it(
  "agrees with them on disk, also after the store was closed and opened again, and repair finds nothing wrong",
  async () => {
    const root = await temporaryFolder();
    let stores = 0;
    await fc.assert(
      fc.asyncProperty(grown, async ([actions, ranges]) => {
        const dir = join(root, String(stores++));
        let log = await openLog({ dir, durability: "os" });
        const grove = new Grove();
        for (const next of actions) {
          if (next.do === "reopen") {
            await log.close();
            log = await openLog({ dir, durability: "os" });
          } else await grove.act(log, next);
        }
        await expectGrove(grove, log, ranges);
        await log.close();
        const report = await repairLog({ dir });
        expect(report).toMatchObject({ changed: false, findings: [] });
        // Copies of shared events have no place in the global order.
        const copies = report.events - grove.order.length;
        expect(grove.deleted.length === 0 ? copies === 0 : copies >= 0).toBe(true);
      }),
      runs(4),
    );
  },
  patience,
);

it("reads through three thousand forks of forks, each with one own event", async () => {
  await using log = await openMemoryLog();
  await log.append("s-0", "none", [numbered(1)]);
  for (let depth = 1; depth <= 3000; depth++)
    await log.fork(`s-${depth}`, [forked(`s-${depth - 1}`, depth)]);
  const positions = await positionsOf(log.read("s-3000"));
  expect(positions).toEqual(Array.from({ length: 3001 }, (_, index) => index + 1));
  expect(await positionsOf(log.read("s-3000", { limit: 2 }))).toEqual([1, 2]);
});

/** All rows of a closed store, by key. */
async function rowsOf(dir: string): Promise<ReadonlyMap<string, string>> {
  const rows = new Level(join(dir, "log"));
  const all = new Map(await rows.iterator().all());
  await rows.close();
  return all;
}

it("writes the same few rows for a fork of ten events and of ten thousand", async () => {
  const root = await temporaryFolder();
  const written = async (count: number): Promise<readonly number[]> => {
    const dir = join(root, String(count));
    const log = await openLog({ dir, durability: "os" });
    await log.append("p", "none", numberedUpTo(count));
    await log.close();
    const before = await rowsOf(dir);
    const again = await openLog({ dir, durability: "os" });
    await again.fork("f", [forked("p", count)]);
    await again.close();
    const rows = [...(await rowsOf(dir))].filter(([key]) => !key.startsWith("m/"));
    return rows.filter(([key]) => !before.has(key)).map(([key, row]) => key.length + row.length);
  };
  const [few, many] = [await written(10), await written(10_000)];
  // The event, the index row, the commit record.
  expect(few).toHaveLength(3);
  expect(many).toHaveLength(3);
  // The rows differ in the digits of the position.
  for (const [index, size] of many.entries())
    expect(size - (few[index] ?? 0)).toBeLessThanOrEqual(2 * "000".length);
});

it(
  "has each fork as a whole or not at all, killed while it makes them",
  async () => {
    const root = await temporaryFolder();
    for (let kill = 0; kill < 3; kill++) {
      const dir = join(root, String(kill));
      const child = startChild(["fork", dir]);
      await child.line((line) => Number(line) >= 20 + 37 * kill);
      await child.kill();
      const acknowledged = Number(child.lines.at(-1));
      const log = await openLog({ dir });
      const sessions = await Array.fromAsync(log.list());
      const forks = sessions.filter(({ forkedFrom }) => forkedFrom !== undefined);
      expect(forks.length).toBeGreaterThanOrEqual(acknowledged);
      for (const { session, forkedFrom, revision } of forks) {
        const { session: parent = "", position = 0 } = forkedFrom ?? {};
        const events = await Array.fromAsync(log.read(session));
        expect(revision).toBeGreaterThanOrEqual(position + 3);
        expect(events.slice(0, position)).toEqual(
          await Array.fromAsync(log.read(parent, { to: position })),
        );
        expect(events.slice(position, position + 3).map(({ type }) => type)).toEqual([
          "session.forked",
          "part.text-delta",
          "part.text-delta",
        ]);
      }
      await log.close();
      expect((await repairLog({ dir })).findings).toEqual([]);
    }
  },
  patience,
);
