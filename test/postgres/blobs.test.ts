/** Blobs in PostgreSQL: the contract of every blob store, for one process and between two, and attachments of a runtime. */

import { hash } from "node:crypto";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { readBlob, type BlobStore, type EventLog } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime } from "../../src/runtime/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { blobStoreContract } from "../../src/testing/index.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";
import { emptyTables, runSql } from "../support/run-sql.ts";

const wanted = process.env["TURNLOG_POSTGRES"] !== undefined;
const programs = installedPostgres();
const server =
  wanted && programs !== undefined ? await startPostgres(programs) : await startPglite();
afterAll(() => server[Symbol.asyncDispose]());

// PGlite takes few connections.
afterEach(async () => {
  await Promise.all([...logs.values()].map(({ log }) => log.close()));
  logs.clear();
});

let count = 0;
const logs = new Map<BlobStore, { readonly log: EventLog; readonly schema: string }>();

/** New ones. On PGlite, which tests use one after the other, in the tables of those before. */
async function openNew(): Promise<BlobStore> {
  if (server.process !== undefined) return await open();
  await emptyTables(server.connectionString, "b");
  return await open("b");
}

async function open(schema = `b${count++}`): Promise<BlobStore> {
  const { connectionString, connections } = server;
  const log = await openPostgresLog({ connectionString, connections, schema });
  const { blobs } = log;
  if (blobs === undefined) throw new Error("a log without blobs");
  logs.set(blobs, { log, schema });
  return blobs;
}

blobStoreContract("in PostgreSQL", {
  describe,
  it,
  open: openNew,
  reopen: async (before) => {
    const { log, schema } = logs.get(before) ?? {};
    await log?.close();
    return await open(schema);
  },
});

const nothingUsed = async (): Promise<ReadonlySet<string>> => new Set();
const content = Uint8Array.from({ length: 100 }, (_, index) => index);

it("gives back a blob of many pieces, and repairs one that was altered", async () => {
  const blobs = await openNew();
  const large = Uint8Array.from({ length: 1_500_000 }, (_, index) => (index * 31) % 251);
  using held = await blobs.put(large);
  const pieces = await Array.fromAsync(blobs.get(held.sha256));
  expect(pieces.length).toBeGreaterThan(1);
  expect(hash("sha256", Buffer.concat(pieces))).toBe(held.sha256);
  await sql(blobs, "UPDATE blobs SET content = substring(content from 2)");
  await expect(readBlob(blobs, held.sha256)).rejects.toMatchObject({ code: "BLOB_DAMAGED" });
  using again = await blobs.put(large);
  expect((await readBlob(blobs, again.sha256)).byteLength).toBe(large.byteLength);
});

it("keeps attachments of a runtime out of the events, and deletes them with their session", async () => {
  const blobs = await openNew();
  const { log } = logs.get(blobs) ?? {};
  if (log === undefined) throw new Error("no log");
  const agent = { model: scriptedModel(["A picture."]) };
  await using runtime = await createRuntime({ log, agent, blobs: { inlineBytes: 10 } });
  const session = await runtime.session("s");
  const file = { type: "file", data: content, mediaType: "application/pdf" } as const;
  await (
    await session.send([{ type: "text", text: "Look" }, file])
  ).result;
  const [entry] = await Array.fromAsync(blobs.list());
  expect(entry?.bytes).toBe(100);
  const types = await Array.fromAsync(log.read("s"), ({ type }) => type);
  expect(types).toContain("blob.stored");
  expect(await runtime.collectBlobs()).toEqual({ removed: 0, bytes: 0 });
  await session.idle();
  expect((await runtime.delete("s")).blobs).toEqual({ removed: 1, bytes: 100 });
  expect(await Array.fromAsync(blobs.list())).toEqual([]);
});

const several = wanted && programs !== undefined;
const needs = several ? "" : " (needs `npm run test:postgres` and an installed server)";

describe.skipIf(!several)(`two processes' blobs in one database${needs}`, () => {
  it("spare what the other one holds, and what it used while they asked what is used", async () => {
    const one = await openNew();
    const two = await open(logs.get(one)?.schema);
    const held = await one.put(content);
    expect(await two.collect(nothingUsed)).toEqual({ removed: 0, bytes: 0 });
    const collected = await two.collect(async () => {
      // Its event is written after the log was read.
      held[Symbol.dispose]();
      await one.has(held.sha256);
      return new Set();
    });
    expect(collected.removed).toBe(0);
    using all = one.hold();
    await one.has(held.sha256);
    expect(await two.collect(nothingUsed)).toEqual({ removed: 0, bytes: 0 });
    all[Symbol.dispose]();
    await one.has(held.sha256);
    expect((await two.collect(nothingUsed)).removed).toBe(1);
  });

  it("never take a blob from the other one that has put it, however puts and collections meet", async () => {
    const one = await openNew();
    const two = await open(logs.get(one)?.schema);
    const putting = Array.from({ length: 100 }, async (_, index) => {
      const bytes = content.slice(index % 3);
      using held = await one.put(bytes);
      expect(await readBlob(one, held.sha256)).toEqual(Buffer.from(bytes));
    });
    const collecting = Array.from({ length: 50 }, () => two.collect(nothingUsed));
    await Promise.all([...putting, ...collecting]);
  });

  it("forget the hold of a process that died after a day", async () => {
    const one = await openNew();
    const two = await open(logs.get(one)?.schema);
    using held = await one.put(content);
    await sql(one, "UPDATE blob_holds SET until = until - interval '25 hours'");
    expect((await two.collect(nothingUsed)).removed).toBe(1);
    expect(await two.has(held.sha256)).toBe(false);
  });
});

async function sql(blobs: BlobStore, text: string): Promise<void> {
  await runSql(server.connectionString, `SET search_path = ${logs.get(blobs)?.schema}; ${text}`);
}
