/** Which files of a folder are LevelDB's, by its manifest: a kill may leave others behind. */

import { copyFile, readdir, rename, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Level } from "level";
import { expect, it } from "vitest";
import { liveFiles } from "../../../src/store/leveldb/files/log-folder.ts";
import { flush } from "../../../src/store/leveldb/files/level.ts";
import { storeChangedAt } from "../../../src/store/leveldb/files/store-file.ts";
import { temporaryFolder } from "./disk.ts";

it("a table that was merged into another one is no file of the log, though it is still there", async () => {
  const dir = await temporaryFolder();
  const log = join(dir, "log");
  const rows = new Level(log);
  await rows.open();
  await rows.put("a", "1");
  await flush(rows);
  const [merged = ""] = (await readdir(log)).filter((name) => name.endsWith(".ldb"));
  await copyFile(join(log, merged), join(dir, merged));
  await rows.put("a", "2");
  await flush(rows, [{ from: "a", to: "b" }]);
  await rows.close();
  await rename(join(dir, merged), join(log, merged));
  const { tables } = liveFiles(log);
  expect(tables.length).toBeGreaterThan(0);
  expect(tables.map(({ path }) => basename(path))).not.toContain(merged);
});

it("a closed store was changed when one of the two files was that every opening writes", async () => {
  const dir = await temporaryFolder();
  expect(storeChangedAt(dir)).toBe(0);
  for (const [file, time] of [
    ["store.json", 2],
    ["store.reached", 5],
  ] as const) {
    await writeFile(join(dir, file), "");
    await utimes(join(dir, file), time, time);
    expect(storeChangedAt(dir)).toBe(time * 1000);
  }
});
