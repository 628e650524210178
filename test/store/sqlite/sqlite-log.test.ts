/** What the log in a file of SQLite adds to the contract of every log: the file, its faults, and its one owner. */
import { execFile } from "node:child_process";
import { copyFile, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { verifyLog } from "../../../src/archive/verify/index.ts";
import type { EventLog, NewEvent, TurnlogErrorCode } from "../../../src/events/index.ts";
import { checkedLog } from "../../../src/store/engine/index.ts";
import { rowEngine } from "../../../src/store/row-engine/index.ts";
import { openSqliteLog } from "../../../src/store/sqlite/index.ts";
import { SqliteRows } from "../../../src/store/sqlite/sqlite-rows.ts";
import {
  alone,
  appendInTurn,
  fails,
  forked,
  numbered,
  numberedUpTo,
  positionsOf,
  stored,
} from "../../../src/testing/index.ts";
import { flipBit, randomFrom, temporaryFolder } from "../leveldb/disk.ts";
import { startChild } from "../leveldb/process.ts";

async function newFile(): Promise<string> {
  return join(await temporaryFolder(), "data", "sessions.db");
}

/** An event that no row of another one contains, with a text of random characters. */
function large(number: number): NewEvent {
  const data = { type: "secret.told", version: 1, data: `secret ${number} ${"x".repeat(2000)}` };
  return { type: "unknown", time: number, data };
}
const copied = { origin: "copied" } as const;

/** A file whose every session can be read. */
async function everything(log: EventLog): Promise<unknown> {
  const sessions = await Array.fromAsync(log.list());
  const events = await Promise.all(
    sessions.map(({ session }) => Array.fromAsync(log.read(session))),
  );
  return { sessions, events, order: await Array.fromAsync(log.readAll()) };
}

it("lets one process open a file, and tells the next one so", async () => {
  const file = await newFile();
  const log = await openSqliteLog({ file });
  await log.append("s", "any", [numbered(1)]);
  const error = await fails("LOG_LOCKED", () => openSqliteLog({ file }));
  expect(error.message).toMatch(/Another process has it open/);
  const other = startChild(["try", file]);
  expect((await other.ended).join("\n")).toMatch(/LOG_LOCKED/);
  expect((await log.append("s", 1, [numbered(2)])).revision).toBe(2);
  await log.close();
  const next = startChild(["try", file]);
  expect(await next.ended).toEqual(["ok"]);
});

it("is one file that only its owner may read, and that can be copied once it is closed", async () => {
  const file = await newFile();
  const log = await openSqliteLog({ file });
  await appendInTurn(log, ["a", "b"], 50);
  await log.fork("f", [forked("a", 7)]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(`${file}-wal`)).mode & 0o777).toBe(0o600);
  const before = await everything(log);
  await log.close();
  expect(await readdir(join(file, ".."))).toEqual(["sessions.db"]);
  await copyFile(file, `${file}.copy`);
  await using copy = await openSqliteLog({ file: `${file}.copy` });
  expect(await everything(copy)).toEqual(before);
});

it("is copied into a new file while others append, as it is at one moment", async () => {
  const file = await newFile();
  const log = await openSqliteLog({ file, durability: "os" });
  const first = Array.from({ length: 300 }, (_, at) => log.append("s", at, [large(at)], copied));
  await Promise.all(first);
  const later = Array.from({ length: 300 }, (_, at) => log.append("t", at, [large(at)], copied));
  await log.backup(`${file}.copy`);
  await Promise.all(later);
  const refused = await fails("INVALID_INPUT", () => log.backup(`${file}.copy`));
  expect(refused.message).toContain("Give the path of a new one.");
  const before = await Array.fromAsync(log.readAll());
  await log.close();
  await fails("LOG_CLOSED", () => log.backup(`${file}.late`));
  expect((await stat(`${file}.copy`)).mode & 0o777).toBe(0o600);
  await using copy = await openSqliteLog({ file: `${file}.copy` });
  expect(await Array.fromAsync(copy.readAll())).toEqual(before.slice(0, 300));
});

it("leaves no byte of a deleted session in the file or its journal, wherever SQLite had moved it", async () => {
  const file = await newFile();
  await using log = await openSqliteLog({ file, durability: "os" });
  const random = randomFrom(3);
  const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
  for (let turn = 0; turn < 400; turn++) {
    const appends = Array.from({ length: 1 + Math.floor(random() * 6) }, () => {
      const session = names[Math.floor(random() * names.length)] ?? "";
      const text = `<${session}>`;
      const delta = { ...numbered(turn), data: { id: "0", text } };
      if (random() < 0.5) return log.append(session, "any", [delta]);
      const data = { type: "a.b", version: 1, data: text + "x".repeat(random() ** 4 * 9000) };
      return log.append(session, "any", [{ type: "unknown", time: turn, data }], copied);
    });
    await Promise.all(appends);
    const at = turn / 50;
    const gone = names[at];
    if (gone === undefined || turn === 0) continue;
    await log.append(gone, "any", [numbered(1, `<${gone}>`)]);
    const snapshot = { projection: "p", version: 1, position: 1, state: `<${gone}>` };
    await log.saveSnapshot(gone, snapshot);
    expect((await log.delete(gone)).erased).toBe(true);
    names[at] = `s${12 + at}`;
  }
  const live = (await Array.fromAsync(log.list())).map(({ session }) => session);
  expect(live.length).toBeGreaterThanOrEqual(12);
  // Last, because it drops the lock.
  const told = new Set<string>();
  for (const name of await readdir(join(file, ".."))) {
    const bytes = await readFile(join(file, "..", name), "latin1");
    for (const [, session = ""] of bytes.matchAll(/<(s\d+)>/g)) told.add(session);
  }
  expect([...told].toSorted()).toEqual(live.toSorted());
});

it("has deleted a session and its bytes or neither, killed while it deletes", async () => {
  const folder = await temporaryFolder();
  for (let kill = 0; kill < 4; kill++) {
    const file = join(folder, `${kill}.db`);
    const child = startChild(["delete", file]);
    await child.line((line) => line === `s-${3 + 5 * kill}`);
    for (let turns = 97 * kill; turns > 0; turns--)
      await new Promise((resolve) => setImmediate(resolve));
    await child.kill();
    const log = await openSqliteLog({ file });
    const deleted = new Set((await Array.fromAsync(log.deleted())).map(({ session }) => session));
    for (const line of child.lines) expect(deleted.has(line), line).toBe(true);
    for (const { session, revision } of await Array.fromAsync(log.list())) {
      expect(deleted.has(session)).toBe(false);
      expect(await positionsOf(log.read(session))).toHaveLength(session[0] === "f" ? 6 : 8);
      expect(revision).toBe(session[0] === "f" ? 6 : 8);
    }
    expect((await verifyLog(log)).problems).toEqual([]);
    const bytes = `${await readFile(file, "latin1")} ${await readFile(`${file}-wal`, "latin1")}`;
    // Forks have copies of the first five.
    const told = [...bytes.matchAll(/secret of (s-\d+)! 6/g)].map(([, session = ""]) => session);
    expect(told.filter((session) => deleted.has(session))).toEqual([]);
    await log.close();
  }
});

it("refuses files that are not its own or of a later release, and leaves them as they are", async () => {
  const refusal = async (code: TurnlogErrorCode, file: string): Promise<void> => {
    const before = await readFile(file);
    const error = await fails(code, () => openSqliteLog({ file }));
    expect(error.message).toContain(file);
    expect(await readFile(file)).toEqual(before);
  };
  const text = await newFile();
  await (await openSqliteLog({ file: text })).close();
  await writeFile(text, "Something else. ".repeat(100));
  await refusal("LOG_FOREIGN", text);

  const foreign = await newFile();
  await (await openSqliteLog({ file: foreign })).close();
  using other = new DatabaseSync(`${foreign}.other`);
  other.exec("CREATE TABLE mine (a)");
  other.close();
  await refusal("LOG_FOREIGN", `${foreign}.other`);

  const later = new DatabaseSync(foreign);
  later.exec("PRAGMA user_version = 3");
  later.close();
  await refusal("LOG_TOO_NEW", foreign);

  const earlier = new DatabaseSync(foreign);
  earlier.exec("PRAGMA user_version = 1");
  earlier.close();
  await refusal("LOG_FOREIGN", foreign);

  const damaged = new DatabaseSync(foreign);
  damaged.exec("PRAGMA user_version = 2; DROP TABLE rows");
  damaged.close();
  await refusal("LOG_DAMAGED", foreign);
  await fails("LOG_FAILED", () => openSqliteLog({ file: join(foreign, "in-a-file") }));
});

it("says which event is damaged, reads what is before it, and names the fork that shares it", async () => {
  const file = await newFile();
  const log = await openSqliteLog({ file });
  await log.append("s", "none", numberedUpTo(5, 1, alone));
  await log.fork("f", [forked("s", 5)]);
  await log.close();
  const bytes = await readFile(file);
  const at = bytes.indexOf("text 4");
  await flipBit(file, at, 3);
  await using damaged = await openSqliteLog({ file });
  for (const session of ["s", "f"]) {
    expect(await positionsOf(damaged.read(session, { to: 3 }))).toEqual([1, 2, 3]);
    const read: number[] = [];
    const error = await fails("LOG_DAMAGED", async () => {
      for await (const { position } of damaged.read(session)) read.push(position);
    });
    expect([error.session, error.position, read]).toEqual([session, 4, [1, 2, 3]]);
  }
  await fails("LOG_DAMAGED", () => damaged.delete("s", { forks: "copy" }));
  expect((await damaged.append("s", 5, [numbered(6)])).revision).toBe(6);
});

it("refuses all changes of a transaction that fails on a full disk, and continues when there is space", async () => {
  const file = await newFile();
  const rows = new SqliteRows(file, "sync");
  const { database } = rows;
  const log = checkedLog(await rowEngine(rows));
  await log.append("s", "none", numberedUpTo(3));
  await log.append("u", "none", [large(0)], copied);
  database.exec("PRAGMA max_page_count = 60");
  const writer = {};
  const results = await Promise.allSettled([
    log.append("s", 3, [numbered(4)], { writer }),
    log.append("s", 4, [numbered(5)]),
    // It waits for a look at the session, and then for the failing write.
    log.append("t", "none", [numbered(1, "id")]),
    log.append("s", 5, [numbered(6, "id")]),
    log.fork("f", [forked("s", 5)]),
    ...Array.from({ length: 200 }, (_, number) => log.append("u", "any", [large(number)], copied)),
    log.saveSnapshot("s", { projection: "p", version: 1, position: 1, state: 1 }),
    log.delete("s"),
  ]);
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  const error = await fails("LOG_FULL", () =>
    log.append(
      "u",
      "any",
      Array.from({ length: 200 }, (_, number) => large(number)),
      copied,
    ),
  );
  expect(error.message).toMatch(/Nothing of these changes was kept.*Free some space/);
  expect(await Array.fromAsync(log.read("s"))).toEqual(stored(numberedUpTo(3)));
  expect((await Array.fromAsync(log.list())).map(({ session }) => session)).toEqual(["s", "u"]);
  expect(await log.append("s", 3, [numbered(4)])).toMatchObject({ revision: 4, position: 5 });
  await fails("REVISION_CONFLICT", () => log.append("s", 4, [numbered(5)], { writer }));
  expect((await log.append("t", "none", [numbered(1, "id")])).repeated).toBe(false);
  database.exec("PRAGMA max_page_count = 100000");
  for (let number = 0; number < 200; number++)
    await log.append("u", number + 1, [large(number)], copied);
  const all = await Array.fromAsync(log.readAll());
  expect(all.length).toBe(206);
  await log.close();
  await using again = await openSqliteLog({ file });
  expect(await Array.fromAsync(again.readAll())).toEqual(all);
  expect((await verifyLog(again)).problems).toEqual([]);
  expect((await Array.fromAsync(again.list())).map(({ revision }) => revision)).toEqual([
    4, 1, 201,
  ]);
});

it("shows each append of one turn of the event loop, though one of them is refused", async () => {
  await using log = await openSqliteLog({ file: await newFile(), durability: "os" });
  const appends = await Promise.allSettled([
    log.append("s", "none", [numbered(1)]),
    log.append("s", "none", [numbered(9)]),
    log.fork("f", [forked("s", 1)]),
    log.fork("g", [forked("s", 9)]),
    log.append("s", 1, [numbered(2)]),
  ]);
  expect(appends.map(({ status }) => status === "fulfilled")).toEqual([
    true,
    false,
    true,
    false,
    true,
  ]);
  expect(await positionsOf(log.read("f"))).toEqual([1, 2]);
  expect(await Array.fromAsync(log.read("s"))).toEqual(stored(numberedUpTo(2)));
});

it("says which Node it needs when it is imported by an older one", async () => {
  // In a process of its own: a module that failed to load stays so.
  const entry = new URL("../../../src/public/sqlite.ts", import.meta.url).href;
  const program = `process.getBuiltinModule = () => undefined; await import("${entry}");`;
  const run = promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
  await expect(run).rejects.toHaveProperty(
    "stderr",
    expect.stringMatching(/needs Node.js 22\.13 or newer, .* Install a newer Node/),
  );
});
