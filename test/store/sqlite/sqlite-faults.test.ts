/** What disturbs the log in a file of SQLite: odd paths, a file that goes away, a reader that stays, one bad change. */
import { existsSync } from "node:fs";
import { readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { appendParts } from "../../../src/events/index.ts";
import { openSqliteLog } from "../../../src/store/sqlite/index.ts";
import { alone, fails, numbered, numberedUpTo, positionsOf } from "../../../src/testing/index.ts";
import { flipBit, temporaryFolder } from "../leveldb/disk.ts";

async function newFile(): Promise<string> {
  return join(await temporaryFolder(), "sessions.db");
}

it("keeps a log in the file of the given name, whatever that name means to SQLite", async () => {
  const [folder, before] = [await temporaryFolder(), process.cwd()];
  onTestFinished(() => process.chdir(before));
  process.chdir(folder);
  for (const file of [":memory:", "file:sessions.db", "file:s.db?mode=memory"]) {
    const log = await openSqliteLog({ file });
    await log.append("s", "none", [numbered(1)]);
    await log.backup(`${file}.copy`);
    await log.close();
    await using copy = await openSqliteLog({ file: `${file}.copy` });
    await using again = await openSqliteLog({ file });
    expect([await again.revision("s"), await copy.revision("s")]).toEqual([1, 1]);
  }
  expect((await readdir(folder)).length).toBe(6);
});

it("writes nothing more once its file is removed or replaced, and continues when it is put back", async () => {
  const file = await newFile();
  const log = await openSqliteLog({ file });
  await log.append("s", "none", [numbered(1)]);
  await rename(file, `${file}.away`);
  const error = await fails("LOG_FAILED", () => log.append("s", 1, [numbered(2)]));
  expect(error.message).toMatch(/removed or replaced/);
  await (await openSqliteLog({ file: join(dirname(file), "other.db") })).close();
  await rename(join(dirname(file), "other.db"), file);
  await fails("LOG_FAILED", () => log.append("s", 1, [numbered(2)]));
  await rename(`${file}.away`, file);
  expect((await log.append("s", 1, [numbered(2)])).revision).toBe(2);
  await log.close();
  await using again = await openSqliteLog({ file });
  expect(await again.revision("s")).toBe(2);
});

it("begins no new log where the journal of another one is", async () => {
  const file = await newFile();
  const log = await openSqliteLog({ file });
  await log.append("s", "none", [numbered(1)]);
  const [data, journal] = [await readFile(file), await readFile(`${file}-wal`)];
  await log.close();
  await writeFile(`${file}-wal`, journal);
  await truncate(file);
  await fails("LOG_DAMAGED", () => openSqliteLog({ file }));
  await rm(file);
  await fails("LOG_DAMAGED", () => openSqliteLog({ file }));
  expect(await readdir(dirname(file))).toEqual(["sessions.db-wal"]);
  await writeFile(file, data);
  await using again = await openSqliteLog({ file });
  expect(await again.revision("s")).toBe(1);
});

it("leaves no file of a copy that failed, which would be taken for an empty log", async () => {
  const file = await newFile();
  const log = await openSqliteLog({ file });
  const data = { type: "filler", version: 1, data: "x".repeat(3000) };
  const events = Array.from(
    { length: 50 },
    (_, time) => ({ type: "unknown", time, data }) as const,
  );
  await log.append("s", "none", events, { origin: "copied" });
  await log.close();
  // A leaf of the tree with nothing but events, which opening the log does not read.
  const bytes = await readFile(file);
  const pages = Array.from({ length: bytes.length / 4096 }, (_, page) => page * 4096);
  const leaf = pages.find((at) => {
    const page = bytes.subarray(at, at + 4096);
    return page[0] === 10 && page.includes("e/s/") && !page.includes("c/");
  });
  await flipBit(file, leaf ?? 0, 5);
  await using damaged = await openSqliteLog({ file });
  await fails("LOG_DAMAGED", () => damaged.backup(`${file}.copy`));
  expect(existsSync(`${file}.copy`)).toBe(false);
});

it("refuses a change alone whose session is damaged, and makes the others of the same turn", async () => {
  const file = await newFile();
  const log = await openSqliteLog({ file });
  await log.append("damaged", "none", numberedUpTo(5, 1, alone));
  await log.append("s", "none", [numbered(1)]);
  await log.close();
  const database = new DatabaseSync(file);
  database.exec("UPDATE rows SET row = row || ' ' WHERE key = 's/damaged'");
  database.close();
  await using opened = await openSqliteLog({ file });
  const [first, bad, last] = await Promise.allSettled([
    opened.append("s", 1, [numbered(2)]),
    opened.append("damaged", 3, [alone(4)]),
    opened.append("s", 2, [numbered(3)]),
  ]);
  expect([first.status, last.status]).toEqual(["fulfilled", "fulfilled"]);
  await fails("LOG_DAMAGED", () => {
    if (bad.status === "rejected") throw bad.reason;
  });
  expect(await opened.revision("s")).toBe(3);
});

it("reads all events before a damaged one in the order of all sessions", async () => {
  const file = await newFile();
  const log = await openSqliteLog({ file });
  await log.append("s", "none", numberedUpTo(5, 1, alone));
  await log.close();
  await flipBit(file, (await readFile(file)).indexOf("text 4"), 3);
  await using damaged = await openSqliteLog({ file });
  const read: number[] = [];
  const error = await fails("LOG_DAMAGED", async () => {
    for await (const { position } of damaged.readAll()) read.push(position);
  });
  expect([error.session, error.position, read]).toEqual(["s", 4, [1, 2, 3]]);
});

it("creates no session from parts whose session exists, and reads none of them", async () => {
  await using log = await openSqliteLog({ file: await newFile(), durability: "os" });
  await log.append("s", "none", [numbered(1, "id")]);
  let read = 0;
  async function* parts() {
    read++;
    yield [numbered(1, "id")];
  }
  await fails("REVISION_CONFLICT", () => appendParts(log, "s", parts()));
  await log.delete("s");
  await fails("SESSION_DELETED", () => appendParts(log, "s", parts()));
  expect(read).toBe(0);
});

it("reads on backwards though the rows of a block are merged meanwhile", async () => {
  await using log = await openSqliteLog({ file: await newFile(), durability: "os" });
  for (let number = 1; number <= 250; number++) await log.append("s", "any", [numbered(number)]);
  const read: number[] = [];
  for await (const { position } of log.read("s", { backwards: true })) {
    read.push(position);
    // The end of the block.
    if (read.length === 1) await log.append("s", 250, [alone(251)]);
  }
  expect(read).toEqual(Array.from({ length: 250 }, (_, index) => 250 - index));
  // The scan begins with rows behind what is wanted.
  const last = log.read("s", { to: 20, backwards: true, limit: 1 });
  expect(await positionsOf(last)).toEqual([20]);
});

it("tells a reader that continues behind the end of the log that it is closed", async () => {
  const log = await openSqliteLog({ file: await newFile(), durability: "os" });
  for (let first = 1; first < 2000; first += 5)
    await log.append("s", "any", numberedUpTo(5, first, alone));
  const readers = [log.read("s"), log.readAll()].map((events) => events[Symbol.asyncIterator]());
  for (const reader of readers) await reader.next();
  await log.close();
  for (const reader of readers) {
    const error = await fails("LOG_CLOSED", async () => {
      while ((await reader.next()).done !== true);
    });
    expect(error.message).toMatch(/was closed/);
  }
});
