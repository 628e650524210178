/** Who may open a store, which error a refusal has, and that a refusal changes nothing. */
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Level } from "level";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TurnlogError, type EventLog } from "../../../src/events/index.ts";
import { finishInterrupted } from "../../../src/store/leveldb/files/open-guard.ts";
import { namesIn, storePaths } from "../../../src/store/leveldb/files/store-files.ts";
import { openLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { numbered, numberedUpTo } from "../../../src/testing/index.ts";
import { copyStore, cut, fingerprint, openRefusal, temporaryFolder } from "./disk.ts";
import { startChild } from "./process.ts";

const errorSchema = z.object({
  code: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.unknown()),
});

/** A closed store with 20 events. */
async function smallStore(dir: string): Promise<void> {
  await using log = await openLog({ dir });
  await log.append("s", "none", numberedUpTo(20));
}

describe("what a process left that died", () => {
  it.each(["reading", "discard", "linking", "repairing"] as const)(
    "is removed by the next one that opens the store: log.%s",
    async (name) => {
      const paths = storePaths(await temporaryFolder());
      await mkdir(join(paths[name], "inner"), { recursive: true });
      await writeFile(join(paths[name], "inner", "000001.log"), "rows");
      await finishInterrupted(paths);
      expect(namesIn(paths.dir)).toEqual([]);
    },
  );
});

describe("a store that is in use", () => {
  it("is refused to a second process, whose error names the owner, and the owner notices nothing", async () => {
    const dir = await temporaryFolder();
    await using log = await openLog({ dir });
    await log.append("s", "none", [numbered(1)]);
    const before = await fingerprint(dir);
    const [line = ""] = await startChild(["try", dir]).ended;
    const { code, message, details } = errorSchema.parse(JSON.parse(line));
    expect(code).toBe("LOG_LOCKED");
    expect(details["pid"]).toBe(process.pid);
    expect(message).toContain(String(process.pid));
    expect(await fingerprint(dir)).toEqual(before);
    await log.append("s", 1, [numbered(2)]);
  });

  it("is refused to this process too, while another process has it and while this one has", async () => {
    const dir = await temporaryFolder();
    const child = startChild(["hold", dir]);
    await child.line((line) => line === "open");
    expect((await openRefusal("LOG_LOCKED", dir)).details["pid"]).toBe(child.process.pid);
    child.process.stdin?.end();
    await child.ended;

    await using own = await openLog({ dir });
    expect((await openRefusal("LOG_LOCKED", dir)).details["pid"]).toBe(process.pid);
    expect(await own.revision("s")).toBe(0);
  });

  it("is free again when its owner was killed, whatever its owner.json says", async () => {
    const dir = await temporaryFolder();
    const child = startChild(["hold", dir]);
    await child.line((line) => line === "open");
    await child.kill();
    expect(await readFile(join(dir, "owner.json"), "utf8")).toContain(String(child.process.pid));
    await using log = await openLog({ dir });
    expect(await log.append("s", "none", [numbered(1)])).toMatchObject({ revision: 1 });
  });

  it("is given to exactly one of several that open it at once, also when it is new", async () => {
    const dir = join(await temporaryFolder(), "new", "store");
    const opened: EventLog[] = [];
    const refusals: unknown[] = [];
    const attempts = Array.from({ length: 5 }, async () => {
      try {
        opened.push(await openLog({ dir }));
      } catch (error) {
        refusals.push(TurnlogError.isInstance(error) ? error.code : error);
      }
    });
    await Promise.all(attempts);
    expect(opened).toHaveLength(1);
    expect(refusals).toEqual(Array.from({ length: 4 }, () => "LOG_LOCKED"));
    await opened[0]?.close();
  });

  it("is not repaired", async () => {
    const dir = await temporaryFolder();
    await using log = await openLog({ dir });
    const before = await fingerprint(dir);
    await expect(repairLog({ dir })).rejects.toMatchObject({
      code: "LOG_LOCKED",
      details: { pid: process.pid },
    });
    expect(await fingerprint(dir)).toEqual(before);
    await log.append("s", "none", [numbered(1)]);
  });
});

describe("a folder that is not a store", () => {
  it("is refused when it is a file", async () => {
    const dir = await temporaryFolder();
    await writeFile(join(dir, "file"), "mine");
    await expect(openLog({ dir: join(dir, "file") })).rejects.toMatchObject({
      code: "LOG_FOREIGN",
    });
    await expect(openLog({ dir: join(dir, "file", "below") })).rejects.toMatchObject({
      code: "LOG_FOREIGN",
    });
    expect(await readFile(join(dir, "file"), "utf8")).toBe("mine");
  });

  it("is left alone, and not made, by who only reads", async () => {
    const dir = await temporaryFolder();
    await writeFile(join(dir, "notes.txt"), "mine");
    for (const folder of [dir, join(dir, "none")]) {
      await expect(openLog({ dir: folder, create: false })).rejects.toMatchObject({
        code: "LOG_NOT_FOUND",
      });
    }
    expect(Object.keys(await fingerprint(dir))).toEqual(["notes.txt"]);
    await smallStore(join(dir, "store"));
    await using log = await openLog({ dir: join(dir, "store"), create: false });
    expect(await log.revision("s")).toBe(20);
  });

  it.each(["", "log"])(
    "is refused when it holds somebody else's LevelDB (in %j)",
    async (below) => {
      const dir = await temporaryFolder();
      await mkdir(join(dir, below), { recursive: true });
      const other = new Level(join(dir, below));
      await other.put("e/s/000000001", "not ours");
      await other.close();
      await openRefusal("LOG_FOREIGN", dir);
      await expect(repairLog({ dir })).rejects.toMatchObject({ code: "LOG_FOREIGN" });
      expect(await rowsOf(join(dir, below))).toEqual([["e/s/000000001", "not ours"]]);
    },
  );

  it("is refused when its log holds other files, which LevelDB would sit down between", async () => {
    const dir = await temporaryFolder();
    await mkdir(join(dir, "log"));
    await writeFile(join(dir, "log", "notes.txt"), "mine");
    await writeFile(join(dir, "log", "000005.ldb"), "mine");
    await openRefusal("LOG_FOREIGN", dir);
    await expect(repairLog({ dir })).rejects.toMatchObject({ code: "LOG_FOREIGN" });
    expect(await readFile(join(dir, "log", "000005.ldb"), "utf8")).toBe("mine");
  });

  it("is refused when its log is a file", async () => {
    const dir = await temporaryFolder();
    await writeFile(join(dir, "log"), "mine");
    expect((await openRefusal("LOG_FOREIGN", dir)).details["path"]).toBe(join(dir, "log"));
  });
});

describe("a store that lost files", () => {
  it.each([
    ["CURRENT", /^CURRENT$/],
    ["the manifest", /^MANIFEST/],
    ["a table", /\.ldb$/],
  ])("is refused without %s, and told to be repaired", async (_name, pattern) => {
    const dir = await temporaryFolder();
    await smallStore(dir);
    const names = Object.keys(await fingerprint(join(dir, "log"))).filter((name) =>
      pattern.test(name),
    );
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) await rm(join(dir, "log", name));
    const error = await openRefusal("LOG_DAMAGED", dir);
    expect(error.message).toContain("turnlog repair");
  });

  it("is refused when its whole log is gone, and when an older copy replaces it", async () => {
    const dir = await temporaryFolder();
    await smallStore(dir);
    await copyStore(join(dir, "log"), join(dir, "older"));
    await using log = await openLog({ dir });
    await log.append("s", 20, [numbered(21)]);
    await log.close();
    await rename(join(dir, "log"), join(dir, "newest"));
    await openRefusal("LOG_DAMAGED", dir);
    await rename(join(dir, "older"), join(dir, "log"));
    expect((await openRefusal("LOG_DAMAGED", dir)).message).toContain("had reached 21");
    await rm(join(dir, "log"), { recursive: true });
    await rename(join(dir, "newest"), join(dir, "log"));
    await using whole = await openLog({ dir });
    expect(await whole.revision("s")).toBe(21);
  });

  it("is refused when its store.json cannot be read", async () => {
    const dir = await temporaryFolder();
    await smallStore(dir);
    await cut(join(dir, "store.json"), 20);
    expect((await openRefusal("LOG_DAMAGED", dir)).message).toContain("store.json");
  });
});

describe("a store that cannot be written to", () => {
  it("is refused when the folder is read-only, and is not changed", async (context) => {
    const dir = await temporaryFolder();
    await smallStore(dir);
    const before = await fingerprint(dir);
    for (const folder of [dir, join(dir, "log"), join(dir, "lock")]) await chmod(folder, 0o555);
    // Modes of folders do not bind root: another user tries.
    const isRoot = process.getuid?.() === 0;
    if (process.platform === "win32") context.skip("Windows has no such rights");
    const child = startChild(["try", dir], isRoot ? { uid: 65534, gid: 65534 } : {});
    const [line = ""] = await child.ended;
    for (const folder of [dir, join(dir, "log"), join(dir, "lock")]) await chmod(folder, 0o755);
    const { code, message } = errorSchema.parse(JSON.parse(line));
    expect(code, message).toBe("LOG_READ_ONLY");
    expect(await fingerprint(dir)).toEqual(before);
  });
});

describe("an opening that was interrupted", () => {
  it("is put right by the next one, at whatever step", async () => {
    const dir = await temporaryFolder();
    await smallStore(dir);
    const left: readonly (readonly [string, (trial: string) => Promise<void>])[] = [
      ["half of the links", (trial) => mkdir(join(trial, "log.linking"))],
      [
        "all links, LevelDB may have worked",
        (trial) => copyStore(join(trial, "log"), join(trial, "log.before-open")),
      ],
      [
        "going back, the log put away",
        (trial) => rename(join(trial, "log"), join(trial, "log.before-open")),
      ],
      [
        "links half deleted",
        (trial) =>
          mkdir(join(trial, "log.discard", "x"), { recursive: true }).then(() => undefined),
      ],
      [
        "a repair in its middle",
        (trial) =>
          mkdir(join(trial, "log.repairing", "from"), { recursive: true }).then(() => undefined),
      ],
      [
        "a repair that was done",
        (trial) => copyStore(join(trial, "log"), join(trial, "log.repaired")),
      ],
    ];
    for (const [step, leave] of left) {
      const trial = join(await temporaryFolder(), "trial");
      await copyStore(dir, trial);
      await leave(trial);
      await using log = await openLog({ dir: trial });
      expect(await log.revision("s"), step).toBe(20);
      await log.close();
      const names = Object.keys(await fingerprint(trial)).filter((name) =>
        /^log\.(?!damaged)/.test(name),
      );
      expect(names, step).toEqual([]);
    }
  });

  it("leaves the log as it was before, when LevelDB has worked on it and it turns out to be damaged", async () => {
    const dir = await temporaryFolder();
    await smallStore(dir);
    await copyStore(join(dir, "log"), join(dir, "log.before-open"));
    const original = await fingerprint(join(dir, "log.before-open"));
    for (const name of Object.keys(original))
      if (name.endsWith(".ldb")) await cut(join(dir, "log", name), 100);
    await expect(openLog({ dir })).rejects.toMatchObject({ code: "LOG_DAMAGED" });
    expect(await fingerprint(join(dir, "log"))).toEqual(original);
    await using log = await openLog({ dir });
    expect(await log.revision("s")).toBe(20);
  });
});

async function rowsOf(location: string): Promise<[string, string][]> {
  const database = new Level(location);
  const rows = await database.iterator().all();
  await database.close();
  return rows;
}
