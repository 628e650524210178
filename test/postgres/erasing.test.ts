/**
 * What is erased is in no column of any table, whatever form its rows have. A reader of its own looks for it: all
 * rows of all tables as text, where bytes are hexadecimal digits.
 */

import { z } from "zod";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { copyLog } from "../../src/archive/exchange/index.ts";
import { verifySession } from "../../src/archive/verify/index.ts";
import {
  isRedacted,
  type EventLog,
  type NewEvent,
  type SessionEvent,
} from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import {
  createRuntime,
  encryptedLog,
  memoryKeys,
  openMemoryLog,
  type KeyStore,
} from "../../src/public/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { forked } from "../../src/testing/index.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";
import { saying } from "../support/script.ts";
import { runSql } from "../support/run-sql.ts";

const wanted = process.env["TURNLOG_POSTGRES"] !== undefined;
const programs = installedPostgres();
const server =
  wanted && programs !== undefined ? await startPostgres(programs) : await startPglite();
afterAll(() => server[Symbol.asyncDispose]());

const logs: EventLog[] = [];
// PGlite takes few connections.
afterEach(async () => {
  await Promise.all(logs.splice(0).map((log) => log.close()));
});

let schemas = 0;

async function open(schema: string): Promise<EventLog> {
  const { connectionString, connections } = server;
  // Two logs that listen would take all connections of PGlite.
  const listen = server.process !== undefined;
  const log = await openPostgresLog({
    connectionString,
    connections,
    schema,
    pollingMs: 20,
    listen,
  });
  logs.push(log);
  return log;
}

const sql = (text: string): Promise<readonly unknown[]> => runSql(server.connectionString, text);

const SECRET = "marigold-7731";

/** The secret as it could be written: as it is, and its bytes in base 16 and, at each of three places, in base 64. */
const forms: readonly string[] = [
  SECRET,
  Buffer.from(SECRET).toString("hex"),
  ...[0, 1, 2].map((before) => {
    const text = Buffer.from(`${"-".repeat(before)}${SECRET}`).toString("base64url");
    // The characters at both ends have bits of other bytes.
    return text.slice(before === 0 ? 0 : before + 1, -2);
  }),
];

const tableSchema = z.array(z.object({ name: z.string() }));
const rowSchema = z.array(z.object({ row: z.string() }));

/** The tables with a row that has the secret in any form. Children of a table are named themselves. */
async function tablesWithSecret(schema: string): Promise<readonly string[]> {
  const tables = tableSchema.parse(
    await sql(`SELECT relname AS name FROM pg_class
      WHERE relkind IN ('r', 'm', 'p') AND relnamespace = '${schema}'::regnamespace ORDER BY relname`),
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = rowSchema.parse(
      await sql(`SELECT to_jsonb(t)::text AS row FROM ONLY ${schema}.${name} t`),
    );
    const text = rows.map(({ row }) => row).join("\n");
    if (forms.some((form) => text.includes(form))) found.push(name);
  }
  return found;
}

const delta = (text: string): NewEvent => ({
  type: "part.text-delta",
  time: 1,
  data: { id: "0", text },
});

describe("rows", () => {
  it("of a deleted session are in no table, nor are its commands and attachments; a fork keeps its own", async () => {
    const schema = `e${schemas++}`;
    const log = await open(schema);
    {
      const model = scriptedModel([saying("It is ", `${SECRET}.`, " Keep it.")]);
      await using runtime = await createRuntime({
        log,
        agent: { model },
        blobs: { inlineBytes: 10 },
      });
      const session = await runtime.session("s", { metadata: { topic: SECRET } });
      const data = Buffer.from(`a file with ${SECRET} in it`);
      const file = { type: "file", data, mediaType: "application/pdf" } as const;
      const said = [{ type: "text", text: `Remember ${SECRET}` } as const, file];
      await (
        await session.send(said, { id: `message ${SECRET}` })
      ).result;
      await session.idle();
    }
    const revision = await log.revision("s");
    await log.append("f", "none", [delta("a"), delta("b"), delta("c")]);
    await log.fork("g", [forked("f", 2)]);
    await log.append("s", "any", [{ ...delta("a"), id: `event ${SECRET}` }]);
    for (const text of ["a", SECRET, "b"]) await log.append("s", "any", [delta(text)]);
    // It shares the message, the answer and the event with an id, and none of the block that is open.
    await log.fork("h", [forked("s", revision + 1)]);
    const state = { said: SECRET };
    await log.saveSnapshot("s", { projection: "p", version: 1, position: revision + 2, state });
    await log.saveSnapshot("g", { projection: "p", version: 1, position: 1, state: { said: "a" } });
    for (const id of ["executed", "answered", "waits"])
      await log.inbox?.post("s", { id, name: "send", args: [SECRET] });
    await log.inbox?.answer("s", "executed", {});
    await log.inbox?.answer("s", "answered", { value: SECRET });
    expect(await sql(`SELECT id FROM ${schema}.commands WHERE args LIKE '%${SECRET}%'`)).toEqual([
      { id: "waits" },
    ]);
    const before = await tablesWithSecret(schema);
    for (const table of ["blobs", "commands", "event_ids", "events", "open_rows", "snapshots"])
      expect(before).toContain(table);

    await log.delete("s", { forks: "copy" });
    const shared = ["blobs", "event_ids", "events", "snapshots"];
    expect(await tablesWithSecret(schema)).toEqual(shared);
    await log.delete("h");
    expect(await tablesWithSecret(schema)).toEqual(["blobs"]);
    // Those who wait get an answer, of a command that was executed and of one that was not.
    const agent = { model: scriptedModel([]) };
    await using runtime = await createRuntime({ log, agent, onWarning: () => {} });
    await runtime.collectBlobs();
    const refused = { error: { code: "SESSION_DELETED" } };
    for (const id of ["executed", "answered", "waits"])
      expect(await log.inbox?.answerOf("s", id)).toMatchObject(refused);
    expect(await tablesWithSecret(schema)).toEqual([]);
    const kept = await Array.fromAsync(log.read("g"), ({ data }) => JSON.stringify(data));
    expect(kept.slice(0, 2)).toEqual(['{"id":"0","text":"a"}', '{"id":"0","text":"b"}']);
    expect(await log.loadSnapshot("g", "p")).toMatchObject({ state: { said: "a" } });
  });

  it("show a process that takes a fork nothing that another one has erased in its origin, and wait for one that has it", async () => {
    const schema = `e${schemas++}`;
    const encryption = { keys: memoryKeys() };
    const [log, elsewhere] = [await open(schema), await open(schema)];
    const agent = { model: scriptedModel(() => "Yes.") };
    await using one = await createRuntime({ log, agent, encryption });
    const session = await one.session("s");
    await (
      await session.send(`Remember ${SECRET}`)
    ).result;
    await one.log.fork("f", [forked("s", await log.revision("s"))]);
    await one.log.fork("g", [forked("f", await log.revision("f"))]);
    const said = await Array.fromAsync(one.log.read("g"));
    const positions = said.filter(hasSecret).map(({ position }) => position);
    expect(positions).not.toEqual([]);

    const former = await createRuntime({ log: elsewhere, agent, encryption });
    await former.session("f");
    const refused = { code: "COMMAND_REFUSED", details: { fork: "f" } };
    await expect(session.redact(positions)).rejects.toMatchObject(refused);
    await former.close();

    await using two = await createRuntime({ log: elsewhere, agent, encryption });
    expect((await Array.fromAsync(two.log.read("g"))).some(hasSecret)).toBe(true);
    await session.redact(positions);
    const fork = await two.session("g");
    await (
      await fork.send("Do you?")
    ).result;
    expect(JSON.stringify(agent.model.calls.at(-1)?.prompt)).not.toContain(SECRET);
    expect(JSON.stringify(await fork.view())).not.toContain(SECRET);
  });

  it("of an encrypted session never show what it said, and a redaction takes it from all readers, followers and snapshots", async () => {
    const schema = `e${schemas++}`;
    const keys = memoryKeys();
    const [log, other] = [await open(schema), await open(schema)];
    const answer = saying("It is ", `${SECRET}.`, " Keep it.");
    const agent = { model: scriptedModel([answer, "Gone.", "Still."]) };
    const encryption = { keys };
    const runtime = await createRuntime({ log, agent, encryption, blobs: { inlineBytes: 10 } });
    const session = await runtime.session("s", { metadata: { topic: SECRET } });
    const data = Buffer.from(`a file with ${SECRET} in it`);
    const file = { type: "file", data, mediaType: "application/pdf" } as const;
    await (
      await session.send([{ type: "text", text: `Remember ${SECRET}` }, file])
    ).result;
    await session.idle();
    await encryptedLog(other, keys).fork("f", [forked("s", await log.revision("s"))]);
    expect(await tablesWithSecret(schema)).toEqual([]);
    const said = await Array.fromAsync(encryptedLog(other, keys).read("s"));
    const positions = said.filter(hasSecret).map(({ position }) => position);
    expect(said.filter(hasSecret).map(({ type }) => type)).toEqual([
      "session.created",
      "message.queued",
      "part.text-delta",
    ]);

    const followed: SessionEvent[] = [];
    const following = (async () => {
      for await (const event of encryptedLog(other, keys).subscribe("s")) {
        followed.push(event);
        if (followed.filter(({ type }) => type === "turn.ended").length === 2) return;
      }
    })();
    // All deltas of the answer go with the one that has it.
    const { ranges } = await session.redact(positions);
    const erased = ranges.flatMap(({ from, to }) =>
      Array.from({ length: to - from + 1 }, (_, index) => from + index),
    );
    expect(erased).toEqual(expect.arrayContaining(positions));
    expect((await (await session.send("Go on")).result).text).toBe("Gone.");
    await session.idle();
    await following;
    // The follower had read the content before; it gets each event once, and the redaction.
    expect(followed.map(({ position }) => position)).toEqual(
      followed.map((_event, index) => index + 1),
    );
    expect(followed.map(({ type }) => type)).toContain("session.redacted");
    await runtime.close();

    // What the tables and the keys give now, to a reader of each session, of the snapshots, and of a copy.
    await using copy = await openMemoryLog();
    await copyLog(log, copy, {
      follow: false,
      signal: new AbortController().signal,
      onProgress: () => {},
      onLost: () => {},
    });
    for (const stored of [other, copy])
      for (const name of ["s", "f"]) {
        const read = await Array.fromAsync(encryptedLog(stored, keys).read(name));
        expect(read.filter(hasSecret)).toEqual([]);
        expect(read.filter((event) => isRedacted(event)).map(({ position }) => position)).toEqual(
          erased,
        );
        expect((await verifySession(encryptedLog(stored, keys), name)).problems).toEqual([]);
      }
    const projections = z
      .array(z.object({ name: z.string() }))
      .parse(await sql(`SELECT DISTINCT projection AS name FROM ${schema}.snapshots`));
    expect(projections.length).toBeGreaterThan(0);
    for (const { name } of projections)
      expect(
        hasSecret(
          await encryptedLog(other, keys).loadSnapshot("s", z.string().parse(JSON.parse(name))),
        ),
      ).toBe(false);
    // The snapshot that was written since and a fold of all events are the same.
    const folded = await viewOf(copy, keys);
    expect(folded).toContain("Gone.");
    expect(folded).not.toContain(SECRET);
    expect(await viewOf(other, keys)).toEqual(folded);
    expect(await tablesWithSecret(schema)).toEqual([]);
  });
});

const hasSecret = (value: unknown): boolean => (JSON.stringify(value) ?? "").includes(SECRET);

/** What a new process shows. */
async function viewOf(log: EventLog, keys: KeyStore): Promise<string> {
  const agent = { model: scriptedModel([]) };
  await using runtime = await createRuntime({ log, agent, encryption: { keys } });
  return JSON.stringify(await (await runtime.session("s")).view());
}
