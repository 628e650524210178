/** The blobs of a whole store: collected, deleted, copied, exported, verified, and left by a repair. */
import { hash } from "node:crypto";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { folderBlobs, memoryBlobs } from "../../src/store/blobs/index.ts";
import { readBlob, type BlobStore, type ReadRange } from "../../src/events/index.ts";
import { repairLog } from "../../src/store/leveldb/index.ts";
import {
  createRuntime,
  exportSession,
  importSession,
  openLog,
  openMemoryLog,
  verifyLog,
  verifySession,
  type Runtime,
  TurnlogError,
  type StoreLog,
} from "../../src/public/index.ts";
import { copyBlobs } from "../../src/archive/exchange/index.ts";
import { collectBlobs, deleteSession, usedBlobs } from "../../src/media/used-blobs.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { mediaTurn } from "../support/media-turn.ts";
import { png } from "../support/media.ts";
import { runs } from "../support/runs.ts";

const root = await mkdtemp(join(tmpdir(), "turnlog-store-blobs-"));
afterAll(() => rm(root, { recursive: true, force: true }));
let folders = 0;

const shots = Array.from({ length: 6 }, (_, seed) => png({ width: 90, height: 60, seed }));
const digests = shots.map((shot) => hash("sha256", shot));

async function digestsIn(blobs: BlobStore): Promise<ReadonlySet<string>> {
  return new Set((await Array.fromAsync(blobs.list())).map(({ sha256 }) => sha256));
}

const agent = { model: scriptedModel(() => "Seen.") };

async function show(runtime: Runtime, session: string, ...which: readonly number[]): Promise<void> {
  const parts = which.map((index) => ({
    type: "file" as const,
    data: shots[index] ?? "",
    mediaType: "image/png",
  }));
  const opened = await runtime.session(session);
  await (
    await opened.send(parts)
  ).result;
}

interface Store {
  readonly log: StoreLog;
  readonly runtime: Runtime;
}

/** A store on disk with a session of two pictures, and one that has the second and a third. */
async function withTwo(): Promise<Store & { readonly dir: string } & AsyncDisposable> {
  const dir = join(root, `${folders++}`);
  const log = await openLog({ dir, durability: "os" });
  const runtime = await createRuntime({ log, agent });
  await show(runtime, "one", 0, 1);
  await show(runtime, "two", 1, 2);
  const close = async (): Promise<void> => {
    await runtime.close();
    await log.close();
  };
  return { dir, log, runtime, [Symbol.asyncDispose]: close };
}

function pathOf(dir: string, index: number): string {
  const digest = digests[index] ?? "";
  return join(dir, "blobs", digest.slice(0, 2), digest);
}

describe("the blobs of a store", () => {
  it("go with the last session that has them, and with no other", async () => {
    await using store = await withTwo();
    const { log, runtime } = store;
    const deleted = await runtime.delete("one");
    expect(deleted.blobs).toEqual({ removed: 1, bytes: shots[0]?.length });
    expect(await digestsIn(log.blobs)).toEqual(new Set([digests[1], digests[2]]));
    await runtime.delete("two");
    expect(await digestsIn(log.blobs)).toEqual(new Set());
  });

  it("that no session has are taken away when that is asked for", async () => {
    await using store = await withTwo();
    const { log, runtime } = store;
    // A process died between the blob and its event.
    using orphan = await log.blobs.put(shots[3] ?? new Uint8Array());
    orphan[Symbol.dispose]();
    expect(await runtime.collectBlobs()).toEqual({ removed: 1, bytes: orphan.bytes });
    expect(await digestsIn(log.blobs)).toEqual(new Set(digests.slice(0, 3)));
  });

  it("stay where a session cannot be read: it may have any", async () => {
    await using store = await withTwo();
    const { log } = store;
    const unreadable = {
      list: () => log.list(),
      deleted: () => log.deleted(),
      read: () => {
        throw new Error("damaged");
      },
    };
    await expect(collectBlobs(unreadable, log.blobs)).rejects.toThrow("damaged");
    expect((await digestsIn(log.blobs)).size).toBe(3);
  });

  it.each([
    ["stay where an event cannot be read and may name one: its type is lost", undefined, false],
    ["stay where an event that names one cannot be read", "blob.stored", false],
    ["go as always where an event of another kind cannot be read", "part.text-delta", true],
  ])("%s", async (_, type, goes) => {
    const blobs = memoryBlobs();
    const [kept, unused] = await Promise.all(
      shots.slice(0, 2).map(async (shot) => {
        using held = await blobs.put(shot);
        return held.sha256;
      }),
    );
    const invalid = new TurnlogError("EVENT_INVALID", "Invalid.", {
      session: "s",
      position: 1,
      details: type === undefined ? {} : { type },
    });
    const log: Parameters<typeof collectBlobs>[0] = {
      async *list() {
        await Promise.resolve();
        yield { session: "s", revision: 2, createdAt: 1, updatedAt: 1 };
      },
      async *deleted() {},
      async *read(_session, { from = 1 } = {}) {
        await Promise.resolve();
        if (from === 1) throw invalid;
        const data = { sha256: kept ?? "", mediaType: "image/png", bytes: 1 };
        yield { position: 2, time: 1, type: "blob.stored", data };
      },
    };
    const outcome = await collectBlobs(log, blobs).then(
      ({ removed }) => removed,
      (error: unknown) => error,
    );
    expect(outcome).toBe(goes ? 1 : invalid);
    expect(await digestsIn(blobs)).toEqual(new Set(goes ? [kept] : [kept, unused]));
  });

  it("are in a backup with the events of the same moment, which opens as a store", async () => {
    await using store = await withTwo();
    const { log, runtime } = store;
    const to = join(root, `${folders++}`);
    const [backup] = await Promise.all([
      log.backup(to),
      show(runtime, "three", 4),
      runtime.delete("one"),
      runtime.collectBlobs(),
    ]);
    expect(backup.lostBlobs).toEqual([]);
    await using copy = await openLog({ dir: to, create: false });
    const { sessions, problems } = await verifyLog(copy);
    expect(problems).toEqual([]);
    expect(sessions.flatMap((one) => one.problems)).toEqual([]);
    expect((await collectBlobs(copy, copy.blobs)).removed).toBe(0);
    expect((await digestsIn(copy.blobs)).size).toBe(backup.blobs);
  });

  it("that are missing or altered are found and reported by a backup, which continues", async () => {
    await using store = await withTwo();
    const { dir, log } = store;
    await rm(pathOf(dir, 0));
    await truncate(pathOf(dir, 2), 99);
    const { sessions } = await verifyLog(log);
    const found = sessions.map(({ session, problems }) => [
      session,
      problems.map(({ rule, what }) => [
        rule,
        /Blob (\w+) is (missing|damaged)/.exec(what)?.slice(1),
      ]),
    ]);
    expect(found).toEqual([
      ["one", [["blobs", [digests[0], "missing"]]]],
      ["two", [["blobs", [digests[2], "damaged"]]]],
    ]);
    const backup = await log.backup(join(root, `${folders++}`));
    expect(backup).toMatchObject({ blobs: 1, lostBlobs: [digests[0], digests[2]] });
  });

  it("are left alone by a repair", async () => {
    const store = await withTwo();
    await store[Symbol.asyncDispose]();
    await writeFile(join(store.dir, "store.json"), "{");
    expect((await repairLog({ dir: store.dir })).findings).toHaveLength(1);
    await using log = await openLog({ dir: store.dir });
    const { sessions } = await verifyLog(log);
    expect(sessions.map(({ problems }) => problems)).toEqual([[], []]);
    expect(await digestsIn(log.blobs)).toEqual(new Set(digests.slice(0, 3)));
  });
});

describe("an exported session", () => {
  it("has its blobs in the file, and is whole wherever it is imported", async () => {
    await using store = await withTwo();
    const lines = await Array.fromAsync(exportSession(store.log, "one"));
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ format: 3, blobs: "inline" });
    await using log = await openMemoryLog();
    await importSession(log, lines, { as: "copy" });
    expect((await verifySession(log, "copy")).problems).toEqual([]);
    expect(await readBlob(log.blobs, digests[1] ?? "")).toEqual(shots[1]);
    expect((await collectBlobs(log, log.blobs)).removed).toBe(0);
  });

  it("of which a blob is lost is exported without it where somebody is told, and not else", async () => {
    await using store = await withTwo();
    await rm(pathOf(store.dir, 0));
    const failed = Array.fromAsync(exportSession(store.log, "one"));
    await expect(failed).rejects.toMatchObject({ code: "BLOB_MISSING" });
    const lost: unknown[] = [];
    const onLost = ({ details }: TurnlogError): number => lost.push(details["sha256"]);
    const lines = await Array.fromAsync(exportSession(store.log, "one", { onLost }));
    const beside = memoryBlobs();
    expect(await copyBlobs(store.log, "one", store.log.blobs, beside, onLost)).toBe(1);
    expect(lost).toEqual([digests[0], digests[0]]);
    await using log = await openMemoryLog();
    await expect(importSession(log, lines)).rejects.toMatchObject({ code: "BLOB_MISSING" });
    await importSession(log, lines, { verify: false });
    expect(await digestsIn(log.blobs)).toEqual(new Set([digests[1]]));
  });

  it("without media is a file that older releases read", async () => {
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({ log, agent });
    await (
      await (await runtime.session("plain")).send("hello")
    ).result;
    const [header = ""] = await Array.fromAsync(exportSession(log, "plain"));
    expect(JSON.parse(header)).toEqual({
      turnlog: "session",
      format: 3,
      session: "plain",
      events: await log.revision("plain"),
    });
  });

  it("whose blob was changed in the file is refused", async () => {
    await using store = await withTwo();
    const lines = await Array.fromAsync(exportSession(store.log, "one"));
    const forged = lines.map((line) =>
      line.startsWith('{"blob"') ? line.replace(/"data":"..../, '"data":"AAAA') : line,
    );
    await using log = await openMemoryLog();
    await expect(importSession(log, forged)).rejects.toMatchObject({ code: "BLOB_DAMAGED" });
    expect(await log.revision("one")).toBe(0);
  });

  it("with its blobs beside it is imported with them, and refused without", async () => {
    await using store = await withTwo();
    const { log: from } = store;
    const beside = folderBlobs(join(root, `${folders++}`));
    expect(await copyBlobs(from, "two", from.blobs, beside)).toBe(2);
    const lines = await Array.fromAsync(exportSession(from, "two", { blobs: "none" }));
    await using log = await openMemoryLog();
    await expect(importSession(log, lines)).rejects.toMatchObject({ code: "BLOB_MISSING" });
    expect(await log.revision("two")).toBe(0);
    await importSession(log, lines, { blobsFrom: beside });
    expect((await verifySession(log, "two")).problems).toEqual([]);
    await importSession(log, lines, { as: "bare", verify: false, blobs: memoryBlobs() });
    expect(await log.revision("bare")).toBeGreaterThan(0);
  });
});

describe("an import", () => {
  it.each(["in the store", "in the file", "beside the file"])(
    "keeps blobs %s while others delete and collect before its events are written",
    async (where) => {
      await using store = await withTwo();
      const { log: from } = store;
      const blobs = where === "in the file" ? "inline" : "none";
      const exported = await Array.fromAsync(exportSession(from, "two", { blobs }));
      await using empty = await openMemoryLog();
      const log = where === "in the store" ? from : empty;
      const lines = async function* (): AsyncGenerator<string> {
        for (const line of exported) {
          yield line;
          await collectBlobs(log, log.blobs);
        }
      };
      let appended = 0;
      const late = wrapLog(log, {
        append: async (session, expected, events) => {
          // Between the blobs and the events there is nothing but this append.
          if (log === from) await store.runtime.delete("two");
          await collectBlobs(log, log.blobs);
          appended += 1;
          return await log.append(session, expected, events);
        },
      });
      const beside = where === "beside the file" ? { blobsFrom: from.blobs } : {};
      await importSession(late, lines(), { as: "copy", blobs: log.blobs, ...beside });
      expect(appended).toBe(1);
      expect((await verifySession(log, "copy")).problems).toEqual([]);
      // Nobody holds them any more.
      await deleteSession(log, log.blobs, "copy", {}, () => {});
      expect((await digestsIn(log.blobs)).has(digests[2] ?? "")).toBe(false);
    },
  );
});

describe("a collection", () => {
  it("spares what is stored and has no event yet, of messages, answers and replies", async () => {
    await using log = await openMemoryLog();
    let collected = 0;
    let before: Promise<unknown> = Promise.resolve();
    const slow = wrapLog(log, {
      append: (session, expected, events) => {
        // Between a blob and its event there is nothing but this append.
        const appended = before.then(async () => {
          if (events.some(({ type }) => type === "blob.stored")) {
            collected += 1;
            await collectBlobs(log, log.blobs);
          }
          return await log.append(session, expected, events);
        });
        before = appended;
        return appended;
      },
    });
    await mediaTurn(slow, log.blobs, shots);
    expect(collected).toBe(3);
    expect(await digestsIn(log.blobs)).toEqual(new Set(digests.slice(0, 3)));
    expect((await verifySession(log, "s")).problems).toEqual([]);
  });

  it("looks again when a session was deleted meanwhile that had given its events to a fork", async () => {
    await using log = await openMemoryLog();
    await using runtime = await createRuntime({ log, agent });
    await show(runtime, "b", 0);
    await (await runtime.session("b")).fork({ id: "a" });
    let isDeleted = false;
    const changing = {
      deleted: () => log.deleted(),
      read: (session: string, range?: ReadRange) => log.read(session, range),
      async *list() {
        for await (const entry of log.list()) {
          yield entry;
          if (entry.session === "a" && !isDeleted) {
            isDeleted = true;
            await log.delete("b", { forks: "copy" });
          }
        }
      },
    };
    expect(await usedBlobs(changing)).toEqual(new Set([digests[0]]));
    expect(isDeleted).toBe(true);
  });

  const step = fc.oneof(
    fc.record({ do: fc.constant("show" as const), session: fc.nat(4), shot: fc.nat(5) }),
    fc.record({ do: fc.constant("fork" as const), session: fc.nat(4), as: fc.nat(4) }),
    fc.record({ do: fc.constant("delete" as const), session: fc.nat(4) }),
    fc.record({ do: fc.constant("collect" as const) }),
    fc.record({ do: fc.constant("orphan" as const), shot: fc.nat(5) }),
  );

  it("never takes what any session has, however sessions, forks and deletions meet, and all else in the end", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), fc.boolean(), async (steps, atOnce) => {
        await using log = await openMemoryLog();
        await using runtime = await createRuntime({ log, agent });
        const name = (index: number): string => `s${index}`;
        const take = async (one: (typeof steps)[number]): Promise<void> => {
          switch (one.do) {
            case "show":
              return await show(runtime, name(one.session), one.shot);
            case "fork": {
              const opened = await runtime.session(name(one.session));
              await opened.fork({ id: name(one.as) });
              return;
            }
            case "delete":
              await runtime.delete(name(one.session), { forks: "copy" });
              return;
            case "collect":
              await runtime.collectBlobs();
              return;
            case "orphan": {
              using _ = await log.blobs.put(shots[one.shot] ?? new Uint8Array());
            }
          }
        };
        // A fork of what is there, a deletion of what is not: refused, which is as good.
        const taken = steps.map((one) => () => take(one).catch(() => {}));
        if (atOnce) await Promise.all(taken.map((one) => one()));
        else for (const one of taken) await one();
        const { sessions, problems } = await verifyLog(log);
        expect(problems).toEqual([]);
        expect(sessions.flatMap((one) => one.problems)).toEqual([]);
        await runtime.collectBlobs();
        const used = new Set<string>();
        for (const { session } of sessions) {
          for await (const { type, data } of log.read(session)) {
            if (type === "blob.stored") used.add(data.sha256);
          }
        }
        expect(await digestsIn(log.blobs)).toEqual(used);
      }),
      runs(60),
    );
  });
});
