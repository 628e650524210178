/** A store that was just made survives a power cut on a file system that keeps only names that were synced. */
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import type * as files from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { encryptedLog } from "../../../../src/store/encryption/encrypting-log.ts";
import { folderKeys } from "../../../../src/store/encryption/folder-keys.ts";
import { openLog } from "../../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../../src/store/leveldb/repair/repair-log.ts";
import { numbered, numberedUpTo } from "../../../../src/testing/index.ts";
import { randomFrom, temporaryFolder, timeout, times } from "../disk.ts";
import { StrictFolder } from "../strict-folder.ts";

/** Called before and after each sync of a folder. */
let onSync: (path: string, isDone: boolean) => void = () => {};

vi.mock("node:fs/promises", async (load) => {
  const real = await load<typeof files>();
  const open: typeof real.open = async (path, ...how) => {
    const file = await real.open(path, ...how);
    if (!(await file.stat()).isDirectory()) return file;
    const sync = file.sync.bind(file);
    return Object.assign(file, {
      sync: async () => {
        onSync(String(path), false);
        await sync();
        onSync(String(path), true);
      },
    });
  };
  return { ...real, open };
});

beforeEach(() => {
  onSync = () => {};
});

const states = times(2);

describe("a store that was just made", () => {
  it(
    "opens with all that was acknowledged, whatever names a power cut takes",
    async () => {
      const random = randomFrom(3);
      const root = await temporaryFolder();
      const [disk, cuts] = [join(root, "disk"), join(root, "cuts")];
      mkdirSync(disk);
      const strict = new StrictFolder(disk, join(root, "shelf"));
      const dir = join(disk, "deep", "store");
      let moment = 0;
      const left: { readonly path: string; readonly acknowledged: number }[] = [];
      let acknowledged = 0;
      const cut = (): void => {
        moment++;
        for (let state = 0; state < states; state++) {
          const path = join(cuts, `${moment}-${state}`);
          strict.cut(path, random);
          left.push({ path, acknowledged });
        }
      };
      onSync = (path, isDone) => {
        if (isDone) strict.synced(path);
        cut();
      };
      const log = await openLog({ dir });
      cut();
      await log.append("s", "none", numberedUpTo(3));
      acknowledged = 3;
      cut();
      const copied = Buffer.from("a picture");
      using blob = await log.blobs.put(copied);
      onSync = () => {};
      await log.append("s", 3, [numbered(4)]);
      acknowledged = 4;
      cut();
      expect(moment).toBeGreaterThan(8);
      const openings = new Set<number>();
      const findings: string[] = [];
      for (const { path, acknowledged: told } of left) {
        const store = join(path, "deep", "store");
        await using again = await openLog({ dir: store });
        const { length } = await Array.fromAsync(again.read("s"));
        expect(length, path).toBe(told);
        expect(told < 4 || (await again.blobs.has(blob.sha256)), path).toBe(true);
        openings.add(told);
        await again.append("s", told, [numbered(told + 1)]);
        await again.close();
        if (told > 0) findings.push(...(await repairLog({ dir: store })).findings);
      }
      expect(findings).toEqual([]);
      expect([...openings]).toEqual([0, 3, 4]);
      await log.close();
    },
    timeout,
  );

  it("reads as an empty one where it was not finished, and has nothing to repair", async () => {
    const dir = await temporaryFolder();
    const random = randomFrom(4);
    const root = await temporaryFolder();
    const strict = new StrictFolder(dir, join(root, "shelf"));
    onSync = (path, isDone) => {
      if (isDone) strict.synced(path);
      else if (path.endsWith("log")) strict.cut(join(root, "cut"), random);
    };
    await (await openLog({ dir })).close();
    onSync = () => {};
    await using log = await openLog({ dir: join(root, "cut"), readOnly: true });
    expect(await Array.fromAsync(log.list())).toEqual([]);
    await log.close();
    await expect(repairLog({ dir: join(root, "cut") })).rejects.toMatchObject({
      code: "LOG_NOT_FOUND",
    });
  });
});

/** Paths below a folder that others may do something with. */
function open(dir: string): readonly string[] {
  const entries = readdirSync(dir, { recursive: true, encoding: "utf8" });
  return ["", ...entries].filter((name) => (statSync(join(dir, name)).mode & 0o077) !== 0);
}

describe.skipIf(process.platform === "win32")("the files of a new store", () => {
  it("is for its owner alone: stores, backups, blobs, keys, and what repair keeps", async () => {
    const before = process.umask(0o022);
    try {
      const root = await temporaryFolder();
      const [dir, copy, keys] = [join(root, "store"), join(root, "copy"), join(root, "keys")];
      {
        await using log = encryptedLog(await openLog({ dir }), folderKeys(keys));
        await log.append("s", "none", numberedUpTo(3));
        using _ = await log.blobs?.put(Buffer.from("a picture"));
        // LevelDB makes its files as it likes, in a folder that nobody else can enter.
        expect(open(dir).filter((name) => !/^(?:log|lock)\/./.test(name))).toEqual([]);
      }
      mkdirSync(copy, { mode: 0o755 });
      {
        await using log = await openLog({ dir });
        await log.backup(copy);
      }
      for (const folder of [dir, copy, keys]) expect(open(folder), folder).toEqual([]);
    } finally {
      process.umask(before);
    }
  });

  it("is made so where an earlier release left it open to others", async () => {
    const dir = await temporaryFolder();
    await (await openLog({ dir })).close();
    const names = ["", "log", "lock", "store.json", "log/CURRENT"];
    for (const name of names)
      chmodSync(join(dir, name), existsSync(join(dir, name, ".")) ? 0o755 : 0o644);
    {
      await using log = await openLog({ dir });
      await log.append("s", "none", [numbered(1)]);
    }
    expect(open(dir)).toEqual([]);
  });
});
