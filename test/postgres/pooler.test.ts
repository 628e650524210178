/**
 * Behind PgBouncer in transaction mode, which breaks LISTEN and what belongs to a connection: the contracts hold,
 * and a node that dies is noticed, by leases and polling alone.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createClient } from "../../src/client/index.ts";
import type { EventLog } from "../../src/events/index.ts";
import { connectPg } from "../../src/store/postgres/database/pg-client.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { eventLogContract, numbered, ownershipContract } from "../../src/testing/index.ts";
import { bundled } from "../support/bundled.ts";
import { eventually } from "../support/eventually.ts";
import { isPgbouncerInstalled, POOLED, startPgbouncer, type Pooler } from "../support/pgbouncer.ts";
import { installedPostgres, startPostgres, type TestServer } from "../support/postgres-server.ts";
import { startSlowNode } from "./slow-nodes.ts";

const programs = installedPostgres();
const wanted = process.env["TURNLOG_POSTGRES"] !== undefined;
const isHere = wanted && programs !== undefined && isPgbouncerInstalled;
const needs = isHere ? "" : " (needs `npm run test:postgres`, PostgreSQL and PgBouncer)";
let server: TestServer | undefined;
let pooler: Pooler | undefined;
if (isHere) {
  server = await startPostgres(programs);
  pooler = await startPgbouncer(server.connectionString);
}
const folder = await mkdtemp(join(tmpdir(), "turnlog-pooler-"));
afterAll(async () => {
  await pooler?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

let count = 0;
const schemas = new WeakMap<EventLog, string>();

async function open(schema = `p${count++}`): Promise<EventLog> {
  const log = await openPostgresLog({
    connectionString: pooler?.connectionString ?? "",
    schema,
    pollingMs: 20,
    leaseMs: 3000,
    listen: false,
  });
  schemas.set(log, schema);
  return log;
}

describe.skipIf(!isHere)(`behind PgBouncer${needs}`, () => {
  eventLogContract("on PostgreSQL behind PgBouncer", {
    describe,
    it,
    open: () => open(),
    reopen: (log) => open(schemas.get(log)),
  });

  const nodes = {
    describe,
    it,
    open: () => open(),
    beside: (log: EventLog) => open(schemas.get(log)),
    inbox: true,
  };
  ownershipContract("on PostgreSQL behind PgBouncer", nodes);

  it("creates the tables once when several processes open an empty database at the same time", async () => {
    for (let time = 0; time < 5; time++) {
      const schema = `p${count++}`;
      const logs = await Promise.all(Array.from({ length: 4 }, () => open(schema)));
      await logs[0]?.append("s", "any", [numbered(1)]);
      expect(await logs[1]?.revision("s")).toBe(1);
      await Promise.all(logs.map((log) => log.close()));
    }
  });

  it("lets no connection of the pooler listen, whose notifications would come to other clients", async () => {
    const connectionString = pooler?.connectionString ?? "";
    const pool = await connectPg({ connectionString, connections: POOLED });
    expect(await pool.listen("turnlog", () => {})).toBeUndefined();
    // Transactions at the same time have all connections to the server.
    const all = Promise.withResolvers<void>();
    let begun = 0;
    const channels = Array.from({ length: POOLED }, () =>
      pool.transaction(async (sql) => {
        if (++begun === POOLED) all.resolve();
        await all.promise;
        return await sql.query("SELECT * FROM pg_listening_channels()");
      }),
    );
    expect((await Promise.all(channels)).flat()).toEqual([]);
    await pool.end();
  });

  it("shows followers what others write, also if nobody has said that there is a pooler", async () => {
    const schema = `p${count++}`;
    const connectionString = pooler?.connectionString ?? "";
    const logs = await Promise.all(
      [1, 2].map(() => openPostgresLog({ connectionString, schema, pollingMs: 20 })),
    );
    const [one, other] = logs;
    const events = other?.subscribe("s")[Symbol.asyncIterator]();
    for (const number of [1, 2, 3]) {
      await one?.append("s", "any", [numbered(number)]);
      expect((await events?.next())?.value).toMatchObject({ time: 1000 + number });
    }
    await Promise.all(logs.map((log) => log.close()));
  });

  it("continues the turn of a node that gets SIGKILL on another one", async () => {
    const program = await bundled(
      new URL("slow-node.ts", import.meta.url),
      join(folder, "program"),
    );
    const settings = { program, connectionString: pooler?.connectionString ?? "", schema: "taken" };
    await using first = await startSlowNode(settings);
    await using second = await startSlowNode(settings);
    const there = createClient({ baseUrl: second.url, token: "secret" }).session("s");
    await createClient({ baseUrl: first.url, token: "secret" })
      .session("s")
      .send("Go", { id: "m" });
    const seen = async (): Promise<string> => JSON.stringify((await there.view()).history);
    await eventually(async () => {
      expect(await seen()).toContain("word 20 ");
    });
    first.kill();
    await eventually(async () => {
      expect((await there.view()).summary.status).toBe("idle");
    });
    expect(await seen()).toContain("word 99 ");
  });
});
