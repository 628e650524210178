/** The tables of the database: their version, who makes them, and a role that may not. */

import { afterAll, describe, expect, it } from "vitest";
import { openPostgresLog, postgresSchemaSql } from "../../src/store/postgres/index.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";
import { runSql } from "../support/run-sql.ts";

const wanted = process.env["TURNLOG_POSTGRES"] !== undefined;
const programs = installedPostgres();
const server =
  wanted && programs !== undefined ? await startPostgres(programs) : await startPglite();
afterAll(() => server[Symbol.asyncDispose]());

const { connectionString, connections } = server;
const open = (schema: string, migrate = true): ReturnType<typeof openPostgresLog> =>
  openPostgresLog({ connectionString, connections, schema, migrate, pollingMs: 20 });

const sql = (text: string, as = connectionString): Promise<readonly unknown[]> => runSql(as, text);

const event = { type: "part.text-delta", time: 1, data: { id: "0", text: "a" } } as const;

it("works on the schema of the next release, and refuses later ones", async () => {
  await (await open("m_next")).close();
  await sql("INSERT INTO m_next.migrations SELECT max(version) + 1 FROM m_next.migrations");
  for (const migrate of [true, false]) {
    await using log = await open("m_next", migrate);
    await log.append("s", "any", [event]);
  }
  await sql("INSERT INTO m_next.migrations SELECT max(version) + 1 FROM m_next.migrations");
  for (const migrate of [true, false])
    await expect(open("m_next", migrate)).rejects.toMatchObject({ code: "LOG_TOO_NEW" });
});

it("refuses tables that no release made, and says how their sessions are kept", async () => {
  await (await open("m_early")).close();
  await sql("UPDATE m_early.migrations SET version = version - 1");
  for (const migrate of [true, false])
    await expect(open("m_early", migrate)).rejects.toThrow(
      /which no release has created[^]*turnlog copy/,
    );
});

it("runs from the printed SQL, and needs no right to change the schema then", async () => {
  await sql(postgresSchemaSql({ schema: "m_role" }));
  await sql(`CREATE ROLE writer LOGIN PASSWORD 'w'; GRANT USAGE ON SCHEMA m_role TO writer;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA m_role TO writer;
    GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA m_role TO writer`);
  if (server.process === undefined) return;
  const url = new URL(connectionString);
  url.username = "writer";
  await expect(sql("CREATE TABLE m_role.t (a int)", url.href)).rejects.toThrow(/permission denied/);
  await using log = await openPostgresLog({
    connectionString: url.href,
    schema: "m_role",
    migrate: false,
  });
  await log.append("s", "none", [event]);
  using held = await log.blobs?.put(Buffer.from("a"));
  expect(held?.bytes).toBe(1);
  await expect(
    openPostgresLog({ connectionString: url.href, schema: "m_none" }),
  ).rejects.toMatchObject({ code: "LOG_READ_ONLY" });
});

const several = server.process !== undefined;
const needs = several ? "" : " (needs `npm run test:postgres` and an installed server)";

describe.skipIf(!several)(`several processes that start at once${needs}`, () => {
  it("create the tables once", async () => {
    const logs = await Promise.all(Array.from({ length: 8 }, () => open("m_race")));
    expect(await sql("SELECT count(*) = 1 AS once FROM m_race.migrations")).toEqual([
      { once: true },
    ]);
    await Promise.all(logs.map((log) => log.close()));
  });
});
