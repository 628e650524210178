/** A copy of a store in use is a complete, intact store, or no store at all. */
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TurnlogError, type EventLog } from "../../../src/events/index.ts";
import { openLog, openMemoryLog } from "../../../src/store/leveldb/open-store.ts";
import { repairLog } from "../../../src/store/leveldb/repair/repair-log.ts";
import { memoryBlobs } from "../../../src/store/blobs/memory-blobs.ts";
import { backupStore } from "../../../src/store/leveldb/backup/backup-store.ts";
import { eventKey, sessionKey, under } from "../../../src/store/row-engine/rows/keys.ts";
import { alone, forked, numbered, numberedUpTo } from "../../../src/testing/index.ts";
import { stepOf } from "../../support/runs.ts";
import { copyStore, fill, openRefusal, randomFrom, temporaryFolder, times } from "./disk.ts";
import { openFaultyLog } from "./faulty-database.ts";
import { startChild } from "./process.ts";

/** Everything that a log tells about its events. */
async function contentOf(log: EventLog): Promise<unknown> {
  const sessions = await Array.fromAsync(log.list());
  const events: Record<string, unknown> = {};
  for (const { session } of sessions) events[session] = await Array.fromAsync(log.read(session));
  return { sessions, events, order: await Array.fromAsync(log.readAll()) };
}

async function refusal(action: () => Promise<unknown>): Promise<TurnlogError> {
  const error: unknown = await action().then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!TurnlogError.isInstance(error)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

describe("a backup", () => {
  it("opens as a store with events, forks, ids and snapshots, is intact, and can be continued", async () => {
    const root = await temporaryFolder();
    const to = join(root, "to");
    const log = await openLog({ dir: join(root, "from"), durability: "os" });
    await fill(log, 3000, randomFrom(1));
    const named = await log.append("named", "none", [numbered(1, "once"), numbered(2)]);
    await log.fork("fork", [forked("named", 1), numbered(3)]);
    const snapshot = { projection: "p", version: 1, position: 2, state: { a: "é" } };
    await log.saveSnapshot("named", snapshot);
    const content = await contentOf(log);
    const made = await log.backup(to);
    const counts = { sessions: 8, events: 3004, position: 3004 };
    expect(made).toEqual({ dir: to, ...counts, blobs: 0, lostBlobs: [] });
    await log.close();

    expect(await repairLog({ dir: to })).toMatchObject({ changed: false, events: 3004 });
    await using copy = await openLog({ dir: to, create: false });
    expect(await contentOf(copy)).toEqual(content);
    expect(await copy.loadSnapshot("named", "p")).toEqual(snapshot);
    expect(await copy.append("named", "any", [numbered(1, "once")])).toMatchObject({
      revision: 1,
      position: named.position - 1,
      repeated: true,
    });
    expect(await copy.append("fork", 3, [numbered(4)])).toEqual({
      revision: 4,
      position: 3005,
      repeated: false,
    });
  });

  it("is of one moment, with all that had been acknowledged, while others go on writing", async () => {
    const root = await temporaryFolder();
    await using log = await openLog({ dir: join(root, "from"), durability: "os" });
    for (let turn = 0; turn < times(3, 5); turn++) {
      const stop = new AbortController();
      const writer = async (session: string): Promise<void> => {
        while (!stop.signal.aborted) await log.append(session, "any", numberedUpTo(3));
      };
      const writers = ["a", "b", "c"].map(writer);
      await log.append("d", "any", [numbered(turn)]);
      const { position: acknowledged } = await log.append("a", "any", [numbered(0)]);
      const to = join(root, `to-${turn}`);
      const { position } = await log.backup(to);
      stop.abort();
      await Promise.all(writers);
      expect(position).toBeGreaterThanOrEqual(acknowledged);
      const copy = await openLog({ dir: to });
      const order = await Array.fromAsync(log.readAll());
      expect(await Array.fromAsync(copy.readAll())).toEqual(order.slice(0, position));
      await copy.close();
      expect((await repairLog({ dir: to })).findings).toEqual([]);
    }
  });

  it("can be made of a log in memory", async () => {
    const to = join(await temporaryFolder(), "to");
    await using log = await openMemoryLog();
    await log.append("s", "none", numberedUpTo(20));
    await log.backup(to);
    await using copy = await openLog({ dir: to, create: false });
    expect(await contentOf(copy)).toEqual(await contentOf(log));
  });

  it("goes into a folder that is empty or not there, and leaves any other as it is", async () => {
    const root = await temporaryFolder();
    await using log = await openLog({ dir: join(root, "from") });
    await log.append("s", "none", [numbered(1)]);
    await mkdir(join(root, "used"));
    await writeFile(join(root, "used", "a.txt"), "mine");
    for (const taken of [join(root, "used"), join(root, "used", "a.txt"), join(root, "from")])
      expect(await refusal(() => log.backup(taken))).toMatchObject({ code: "INVALID_INPUT" });
    expect(await readdir(join(root, "used"))).toEqual(["a.txt"]);
    await mkdir(join(root, "empty"));
    const both = await Promise.allSettled([
      log.backup(join(root, "empty")),
      log.backup(join(root, "empty")),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await using copy = await openLog({ dir: join(root, "empty"), create: false });
    expect(await copy.revision("s")).toBe(1);
  });
});

describe("a backup that is interrupted", () => {
  it("does not go into the store that it is of, by whatever way, and leaves that as it is", async () => {
    const dir = join(await temporaryFolder(), "store");
    await using log = await openLog({ dir });
    await log.append("s", "none", [numbered(1)]);
    await symlink(join(dir, "blobs"), join(dir, "..", "beside"));
    const before = await readdir(dir, { recursive: true });
    for (const to of ["copy", "log/x", "blobs/x", "../beside/x", "."]) {
      const error = await refusal(() => log.backup(join(dir, to)));
      expect(error).toMatchObject({ code: "INVALID_INPUT" });
      expect(error.message).toContain("cannot be inside its own store");
    }
    expect(await readdir(dir, { recursive: true })).toEqual(before);
    await log.backup(join(dir, "..", "store-copy"));
  });

  it("is refused by opening and by repair at any moment of the copying", async () => {
    const root = await temporaryFolder();
    await using log = await openLog({ dir: join(root, "from"), durability: "os" });
    await log.append("s", "none", numberedUpTo(6000, 1, alone));
    const to = join(root, "to");
    let moment = 0;
    const copies: Promise<void>[] = [];
    await log.backup(to, {
      onProgress: () => copies.push(copyStore(to, join(root, String(moment++)), true)),
    });
    await Promise.all(copies);
    expect(moment).toBeGreaterThan(5);
    for (let at = 0; at < moment; at++) {
      const dir = join(root, String(at));
      await openRefusal("LOG_FOREIGN", dir);
      expect((await refusal(() => repairLog({ dir }))).message).toContain("backup");
    }
  });

  it("is refused or whole, killed after any of its steps", async () => {
    const root = await temporaryFolder();
    const from = join(root, "from");
    const log = await openLog({ dir: from, durability: "os" });
    await log.append("s", "none", numberedUpTo(4000, 1, alone));
    await log.close();
    let whole = 0;
    for (let kill = 1; whole === 0; kill += stepOf(2)) {
      const to = join(root, String(kill));
      const child = startChild(["backup", from, to]);
      let lines = 0;
      await child.line((line) => line === "done" || ++lines >= kill);
      const isDone = child.lines.includes("done");
      await child.kill();
      const isUnfinished = (await readdir(to)).includes("backup.unfinished");
      // A resolved append is in the copy.
      expect(isDone && isUnfinished).toBe(false);
      if (isUnfinished) {
        await openRefusal("LOG_FOREIGN", to);
        continue;
      }
      whole++;
      expect(await repairLog({ dir: to })).toMatchObject({ changed: false, events: 4000 });
    }
  });

  it("tells how many events have been copied of how many, whatever was deleted or copied before", async () => {
    const root = await temporaryFolder();
    await using log = await openLog({ dir: join(root, "from"), durability: "os" });
    await log.append("gone", "none", numberedUpTo(1500, 1, alone));
    await log.append("parent", "none", numberedUpTo(1200, 1, alone));
    await log.fork("fork", [forked("parent", 1000), numbered(1)]);
    await log.fork("inner", [forked("fork", 1001), numbered(1)]);
    await log.append("other", "none", numberedUpTo(700, 1, alone));
    await log.delete("gone");
    await log.delete("parent", { forks: "copy" });
    await log.delete("fork", { forks: "copy" });
    const told: { readonly events: number; readonly of: number }[] = [];
    const { events } = await log.backup(join(root, "to"), {
      onProgress: (progress) => told.push(progress),
    });
    expect(events).toBe(1003 + 700);
    expect(told.length).toBeGreaterThan(1);
    expect(told.at(-1)).toEqual({ events, of: events });
    expect(told.filter((one) => one.events > one.of)).toEqual([]);
  });

  it("leaves nothing when it is aborted, or its store is closed", async () => {
    const root = await temporaryFolder();
    const log = await openLog({ dir: join(root, "from"), durability: "os" });
    await log.append("s", "none", numberedUpTo(6000, 1, alone));
    const reason = new Error("enough");
    const stop = new AbortController();
    const aborted = log.backup(join(root, "to"), {
      signal: stop.signal,
      onProgress: () => stop.abort(reason),
    });
    await expect(aborted).rejects.toBe(reason);
    let closing: Promise<void> | undefined;
    const cut = await refusal(() =>
      log.backup(join(root, "to"), {
        onProgress: () => {
          closing ??= log.close();
        },
      }),
    );
    expect(cut.code).toBe("LOG_CLOSED");
    await closing;
    expect(await readdir(root)).toEqual(["from"]);
  });

  it.each([
    ["an event is altered", eventKey("s", 7), "s:7"],
    ["an event is missing", eventKey("s", 8), "s:8"],
    ["the last event is missing", eventKey("t", 20), "t:20"],
    ["the last event of an append of late is missing", eventKey("u", 30), "u:30"],
    ["an event of an append of late is missing", eventKey("u", 21), "u:21"],
    ["an index row is missing", sessionKey("s"), "s:20"],
    ["a commit record is missing", "first commit", "global position 1 "],
  ])("is not made of a store where %s, and says where", async (what, key, place) => {
    const { log, rows } = await openFaultyLog();
    await log.append("s", "none", numberedUpTo(20, 1, alone));
    await log.append("t", "none", numberedUpTo(20, 1, alone));
    // Its index row counts 20.
    await log.append("u", "none", numberedUpTo(20, 1, alone));
    await log.append("u", "exists", numberedUpTo(10, 21, alone));
    const [commit = ""] = await rows.keys(under("c/")).all();
    if (what.includes("altered")) await rows.put(key, `${await rows.get(key)} `);
    else await rows.del(key === "first commit" ? commit : key);
    const root = await temporaryFolder();
    const error = await refusal(() =>
      backupStore(rows, memoryBlobs(), join(root, "to"), { indexed: 0, hold: (held) => held }),
    );
    expect(error.code).toBe("LOG_DAMAGED");
    expect(error.message).toContain(place);
    expect(await readdir(root)).toEqual([]);
    await log.close();
  });
});
