/** LevelDB opens without its log file as if nothing had been written: the store says what is gone. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { cp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { TurnlogError } from "../../../src/events/index.ts";
import { readStoreFile } from "../../../src/store/leveldb/files/store-file.ts";
import { storePaths } from "../../../src/store/leveldb/files/store-files.ts";
import { openLog, type OpenLogOptions } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { numberedUpTo } from "../../../src/testing/index.ts";
import { copyStore, cut, flipBit, logFiles, openRefusal, temporaryFolder } from "./disk.ts";

type Durability = NonNullable<OpenLogOptions["durability"]>;

/** A store as a killed process leaves it: `closed` events in tables, `more` in LevelDB's log file. */
async function killedStore(
  closed: number,
  more: number,
  durability: Durability = "sync",
): Promise<string> {
  const root = await temporaryFolder();
  const [live, dir] = [join(root, "live"), join(root, "store")];
  if (closed > 0) {
    await using log = await openLog({ dir: live });
    await log.append("early", "none", numberedUpTo(closed));
  }
  await using log = await openLog({ dir: live, durability });
  if (more > 0) await log.append("late", "none", numberedUpTo(more));
  await copyStore(live, dir);
  return dir;
}

function logFile(dir: string): string {
  const names = readdirSync(join(dir, "log")).filter((name) => name.endsWith(".log"));
  const [name] = names;
  if (name === undefined || names.length > 1) throw new Error(`log files: ${names.join(", ")}`);
  return join(dir, "log", name);
}

/** Takes from `store.json` what a release did not write. */
function without(dir: string, part: RegExp): void {
  const path = join(dir, "store.json");
  const text = readFileSync(path, "utf8");
  expect(text).toMatch(part);
  writeFileSync(path, text.replace(part, ""));
}

/** `store.json` and the folder as a release without `store.reached` left them. */
async function asBefore(dir: string): Promise<void> {
  without(dir, /,"keepsReached":true,"sum":"\w+"/);
  await rm(join(dir, "store.reached"));
}

/** What it returns, or the code of the error. */
function answerOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    if (TurnlogError.isInstance(error)) return error.code;
    throw error;
  }
}

async function revisions(dir: string): Promise<Readonly<Record<string, number>>> {
  await using log = await openLog({ dir });
  const entries = await Array.fromAsync(log.list());
  return Object.fromEntries(entries.map(({ session, revision }) => [session, revision]));
}

describe("a killed store whose log file was removed", () => {
  it("is refused, by repair too, with what it had, where all events are gone", async () => {
    const dir = await killedStore(0, 30);
    await rm(logFile(dir));
    expect((await openRefusal("LOG_DAMAGED", dir)).message).toContain("gone (it had 30)");
    await expect(openLog({ dir, readOnly: true })).rejects.toThrow("gone (it had 30)");
    await expect(repairLog({ dir })).rejects.toThrow("gone (it had 30)");
  });

  it("is refused with the name of the file; repair counts what is gone and keeps the rest", async () => {
    const dir = await killedStore(20, 7);
    const path = logFile(dir);
    await rm(path);
    const { message } = await openRefusal("LOG_DAMAGED", dir);
    expect(message).toContain(path.slice(path.lastIndexOf("/") + 1));
    expect(message).toContain("turnlog repair");
    await expect(openLog({ dir, readOnly: true })).rejects.toMatchObject({ code: "LOG_DAMAGED" });
    expect(await repairLog({ dir })).toMatchObject({ changed: true, events: 20, unaccounted: 7 });
    expect(await revisions(dir)).toEqual({ early: 20 });
    expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
  });

  it("is refused where an earlier release was killed in it, which wrote no count", async () => {
    const dir = await killedStore(20, 7);
    await asBefore(dir);
    await rm(logFile(dir));
    await openRefusal("LOG_DAMAGED", dir);
    const { findings } = await repairLog({ dir });
    expect(findings.join()).toContain("is missing");
    expect(await revisions(dir)).toEqual({ early: 20 });
  });
});

describe("a log file that was cut behind what was acknowledged", () => {
  it("is refused with the number of events that are gone, and repair counts them", async () => {
    const dir = await killedStore(20, 7);
    await cut(logFile(dir), 0);
    const { message } = await openRefusal("LOG_DAMAGED", dir);
    expect(message).toContain("The last 7 events are gone");
    expect(await repairLog({ dir })).toMatchObject({ events: 20, unaccounted: 7 });
    expect(await revisions(dir)).toEqual({ early: 20 });
  });

  it("opens where nothing more was promised: a power cut may lose what was not synced", async () => {
    const dir = await killedStore(20, 7, "os");
    await cut(logFile(dir), 0);
    expect(await revisions(dir)).toEqual({ early: 20 });
  });
});

describe("a store that is whole", () => {
  it("opens where it was moved or copied, closed or killed", async () => {
    const dir = await killedStore(20, 7);
    await rename(dir, `${dir}-moved`);
    expect(await revisions(`${dir}-moved`)).toEqual({ early: 20, late: 7 });
    await cp(`${dir}-moved`, dir, { recursive: true });
    expect(await revisions(dir)).toEqual({ early: 20, late: 7 });
  });

  it("opens without its log file if that was empty when it was closed, as copies leave out what ends in .log", async () => {
    const dir = await killedStore(20, 7);
    for (const prepare of [() => Promise.resolve(), () => asBefore(dir)]) {
      await (await openLog({ dir })).close();
      await prepare();
      await rm(logFile(dir));
      expect(await revisions(dir)).toEqual({ early: 20, late: 7 });
      expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
    }
  });

  it("opens as an earlier release left it, and has a count from then on", async () => {
    const dir = await killedStore(20, 7);
    await asBefore(dir);
    expect(await revisions(dir)).toEqual({ early: 20, late: 7 });
    expect(readdirSync(dir)).toContain("store.reached");
  });

  it("keeps the count as it is while others read, and counts on after a repair", async () => {
    const dir = await killedStore(20, 7);
    const before = readFileSync(join(dir, "store.reached"));
    await (await openLog({ dir, readOnly: true })).close();
    expect(readFileSync(join(dir, "store.reached"))).toEqual(before);
    await cut(logFile(dir), 0);
    await repairLog({ dir });
    const copy = `${dir}-copy`;
    await using log = await openLog({ dir });
    await log.append("late", "none", numberedUpTo(3));
    await copyStore(dir, copy);
    await cut(logFile(copy), 0);
    expect((await openRefusal("LOG_DAMAGED", copy)).message).toContain("The last 3 events");
  });
});

it("refuses a store whose count is gone or altered, and repair writes it anew", async () => {
  for (const spoil of [rm, (path: string) => flipBit(path, 9, 2), (path: string) => cut(path, 3)]) {
    const dir = await killedStore(20, 7);
    await spoil(join(dir, "store.reached"));
    expect((await openRefusal("LOG_DAMAGED", dir)).message).toContain("store.reached");
    expect(await repairLog({ dir })).toMatchObject({ changed: true, events: 27, lost: [] });
    expect(await revisions(dir)).toEqual({ early: 20, late: 7 });
  }
});

describe("an altered store.json", () => {
  it("is refused, whichever bit it is, or says what it said", async () => {
    const paths = storePaths(await killedStore(20, 7));
    const [whole, known] = [readFileSync(paths.store), readStoreFile(paths)];
    const taken: string[] = [];
    for (let bit = 0; bit < whole.length * 8; bit++) {
      const bytes = Buffer.from(whole);
      bytes[bit >> 3] = (whole[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(paths.store, bytes);
      const answer = answerOf(() => readStoreFile(paths));
      const isTold = answer === "LOG_DAMAGED" || isDeepStrictEqual(answer, known);
      if (!isTold) taken.push(bytes.toString());
    }
    expect(taken).toEqual([]);
  });

  it.each([
    ["as this release writes it", () => {}],
    ["without a sum, as earlier releases wrote it", (dir: string) => without(dir, /,"sum":"\w+"/)],
  ])("does not hide that the log is gone: %s", async (_, prepare) => {
    const dir = await killedStore(0, 30);
    prepare(dir);
    const at = readFileSync(join(dir, "store.json"), "utf8").indexOf("keepsReached");
    await flipBit(join(dir, "store.json"), at, 1);
    const path = logFile(dir);
    writeFileSync(path, readFileSync(path).fill(0));
    await openRefusal("LOG_DAMAGED", dir);
    await expect(openLog({ dir, readOnly: true })).rejects.toMatchObject({ code: "LOG_DAMAGED" });
    const { findings, unaccounted } = await repairLog({ dir });
    expect(findings.join()).toContain("store.json");
    expect(unaccounted).toBe(30);
    expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
  });
});

describe("the folder of an open store", () => {
  it("lets no event be acknowledged once it is removed, nor the store close as if all were well", async () => {
    const dir = join(await temporaryFolder(), "store");
    const log = await openLog({ dir });
    await log.append("s", "none", numberedUpTo(3));
    await rm(dir, { recursive: true });
    await expect(log.append("s", "any", numberedUpTo(1))).rejects.toMatchObject({
      code: "LOG_FAILED",
      details: { path: dir },
    });
    await log.close();
    const quiet = await openLog({ dir });
    await rm(dir, { recursive: true });
    await expect(quiet.close()).rejects.toMatchObject({ code: "LOG_FAILED" });
  });

  it("is not written to where a copy took its place, and the copy stays as it is", async () => {
    const dir = await killedStore(20, 7);
    const log = await openLog({ dir });
    await rename(dir, `${dir}-away`);
    await copyStore(`${dir}-away`, dir);
    const before = readFileSync(join(dir, "store.json"));
    await expect(log.append("late", "any", numberedUpTo(1))).rejects.toThrow(/removed or replaced/);
    await log.close();
    expect(readFileSync(join(dir, "store.json"))).toEqual(before);
    expect(readdirSync(dir)).toContain("owner.json");
    expect(await revisions(dir)).toEqual({ early: 20, late: 7 });
  });

  it("is missed a second after its files were removed", async () => {
    const dir = await killedStore(20, 7);
    const log = await openLog({ dir });
    for (const { path } of await logFiles(dir, /./)) await rm(path);
    await rm(join(dir, "log"), { recursive: true });
    const appended = (): Promise<unknown> =>
      log.append("late", "any", numberedUpTo(1)).catch((error: unknown) => error);
    await expect.poll(appended).toMatchObject({ code: "LOG_FAILED" });
    await log.close();
  });
});

it("repairs a store that lost store.json and the row with its format, by the count beside them", async () => {
  const dir = await killedStore(20, 7);
  for (const { path } of await logFiles(dir, /\.ldb$/)) await rm(path);
  await rm(join(dir, "store.json"));
  const { findings, events, unaccounted } = await repairLog({ dir });
  expect(findings.join()).toContain("store.json is missing");
  expect([events, unaccounted]).toEqual([7, 20]);
  expect(await revisions(dir)).toEqual({ late: 7 });
});
