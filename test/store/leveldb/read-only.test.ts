/** A store that is open for reading stays unchanged, whatever a dead process left in it. */
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderKeys } from "../../../src/store/encryption/folder-keys.ts";
import { memoryKeys } from "../../../src/store/encryption/key-store.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { numbered, numberedUpTo } from "../../../src/testing/index.ts";
import { copyStore, cut, fingerprint, logFiles, temporaryFolder } from "./disk.ts";
import { startChild } from "./process.ts";
import { encryptingLog } from "../../../src/store/encryption/index.ts";

/**
 * A store whose process was killed while it appended: nothing of it is in LevelDB's tables, and
 * index rows are behind.
 */
async function killedStore(dir: string): Promise<number> {
  const child = startChild(["append", dir, "os", "40"]);
  await child.line((line) => Number(line) >= 2000);
  await child.kill();
  return Number(child.lines.at(-1));
}

/** Opens a store for reading, reads all of it, and expects all files to be unchanged. */
async function readAsItIs(dir: string): Promise<number> {
  const before = await fingerprint(dir);
  const log = await openLog({ dir, readOnly: true });
  const events = await Array.fromAsync(log.read("s"));
  const [entry] = await Array.fromAsync(log.list());
  expect(entry?.revision).toBe(events.length);
  expect(await Array.fromAsync(log.readAll())).toHaveLength(events.length);
  await log.close();
  expect(await fingerprint(dir)).toEqual(before);
  return events.length;
}

it("leaves a store that a process was killed in as it is, at whatever step, and reads what a writer finds", async () => {
  const root = await temporaryFolder();
  const dir = join(root, "killed");
  const acknowledged = await killedStore(dir);
  const left: readonly (readonly [string, (trial: string) => Promise<void>])[] = [
    ["appending", async () => {}],
    [
      "opening, with links to the log beside it",
      (trial) => copyStore(join(trial, "log"), join(trial, "log.before-open")),
    ],
    ["putting the log back", (trial) => rename(join(trial, "log"), join(trial, "log.before-open"))],
    ["laying links", (trial) => mkdir(join(trial, "log.linking"))],
    ["deleting links", (trial) => mkdir(join(trial, "log.discard"))],
    [
      "a repair that was done and not put in its place",
      async (trial) => {
        await rename(join(trial, "log"), join(trial, "log.repaired"));
        await mkdir(join(trial, "log"));
        await writeFile(join(trial, "log", "000009.ldb"), "damaged");
      },
    ],
  ];
  for (const [step, leave] of left) {
    const trial = join(root, step.replaceAll(" ", "-"));
    await copyStore(dir, trial);
    await leave(trial);
    const read = await readAsItIs(trial);
    expect(read, step).toBeGreaterThanOrEqual(acknowledged);
    await using log = await openLog({ dir: trial });
    expect(await log.revision("s"), step).toBe(read);
  }
});

it("tells damage and mends none of it", async () => {
  const dir = await temporaryFolder();
  await killedStore(dir);
  await (await openLog({ dir })).close();
  const [table] = await logFiles(dir, /\.ldb$/);
  await cut(table?.path ?? "", 1000);
  const before = await fingerprint(dir);
  for (let time = 0; time < 2; time++) {
    await expect(openLog({ dir, readOnly: true })).rejects.toMatchObject({ code: "LOG_DAMAGED" });
    expect(await fingerprint(dir)).toEqual(before);
  }
});

it("refuses all that would change the store, and makes none", async () => {
  const root = await temporaryFolder();
  const dir = join(root, "store");
  await expect(openLog({ dir, readOnly: true })).rejects.toMatchObject({ code: "LOG_NOT_FOUND" });
  expect(await readdir(root)).toEqual([]);
  {
    await using log = await openLog({ dir });
    await log.append("s", "none", numberedUpTo(3));
    using _ = await log.blobs.put(Buffer.from("a picture"));
  }
  const before = await fingerprint(dir);
  {
    await using log = await openLog({ dir, readOnly: true });
    expect(log.readOnly).toBe(true);
    const from = { session: "s", position: 2 };
    const refused = [
      () => log.append("s", 3, [numbered(4)]),
      () => log.fork("f", [{ type: "session.forked", time: 1, data: { from } }]),
      () => log.saveSnapshot("s", { projection: "p", version: 1, position: 1, state: {} }),
      () => log.delete("s"),
      () => log.blobs.put(Buffer.from("another")),
      () => log.blobs.collect(async () => new Set()),
    ];
    for (const act of refused)
      await expect(act(), act.toString()).rejects.toMatchObject({ code: "LOG_READ_ONLY" });
    expect(await log.revision("s")).toBe(3);
    // It still has one owner at a time.
    await expect(openLog({ dir })).rejects.toMatchObject({ code: "LOG_LOCKED" });
    await expect(openLog({ dir, readOnly: true })).rejects.toMatchObject({ code: "LOG_LOCKED" });
    await log.backup(join(root, "copy"));
  }
  expect(await fingerprint(dir)).toEqual(before);
  await using copy = await openLog({ dir: join(root, "copy") });
  expect(await copy.revision("s")).toBe(3);
  for (const option of [{ durability: "os" }, { create: true }] as const) {
    // Types refuse them; programs without types get an error.
    const given = { dir, readOnly: true, ...option } as unknown as Parameters<typeof openLog>[0];
    await expect(openLog(given)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  }
});

it("reads a store in which nothing was ever said", async () => {
  const dir = await temporaryFolder();
  await (await openLog({ dir })).close();
  await rm(join(dir, "log"), { recursive: true });
  const before = await fingerprint(dir);
  await using log = await openLog({ dir, readOnly: true });
  expect(await Array.fromAsync(log.list())).toEqual([]);
  await log.close();
  expect(await fingerprint(dir)).toEqual(before);
});

it("leaves keys as they are, and reads nothing that was said to be redacted", async () => {
  const root = await temporaryFolder();
  const [dir, folder] = [join(root, "store"), join(root, "keys")];
  const stored = folderKeys(folder);
  // The process dies when the redaction is in the log, and its keys are not erased yet.
  let saves = 0;
  const dying = {
    ...stored,
    save: async (session: string, key: string) => {
      if (session === "s" && ++saves > 2) throw new Error("dead");
      await stored.save(session, key);
    },
  };
  {
    const log = encryptingLog(await openLog({ dir }), dying);
    const said = (id: string) =>
      ({
        type: "message.queued",
        time: 1,
        data: { id, content: `${id}!`, delivery: "steer" },
      }) as const;
    await log.append("s", "none", [said("stays"), said("goes")]);
    await log.erase("s", { ranges: [{ from: 2, to: 2 }] }, 3).catch(() => {});
    await log.close();
  }
  const before = await fingerprint(folder);
  expect(Object.keys(before)).toContain("-unfinished.key");
  {
    await using log = encryptingLog(await openLog({ dir, readOnly: true }), folderKeys(folder));
    await log.settled();
    const text = JSON.stringify(await Array.fromAsync(log.read("s")));
    expect(text).toContain("stays!");
    expect(text).not.toContain("goes!");
  }
  expect(await fingerprint(folder)).toEqual(before);
  await using log = encryptingLog(await openLog({ dir }), folderKeys(folder));
  await log.settled();
  expect(Object.keys(await fingerprint(folder))).not.toContain("-unfinished.key");
  expect(memoryKeys().folder).toBeUndefined();
});
