/** The schema of the database: its versions, the order in which processes update it, and a role that may not. */

import { afterAll, describe, expect, it } from "vitest";
import { checksum } from "../../src/events/index.ts";
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

it("continues a store of the release before, whose processes read and write on", async () => {
  const printed = postgresSchemaSql({ schema: "m_old" });
  const before = printed.slice(0, printed.lastIndexOf('INSERT INTO "m_old".migrations'));
  const end = before.lastIndexOf('INSERT INTO "m_old".migrations');
  await sql(`${before.slice(0, before.indexOf(";", end) + 1)} COMMIT;`);
  await expect(open("m_old", false)).rejects.toMatchObject({ code: "LOG_FOREIGN" });
  // As the release before calls it.
  const appendBefore = async (base: number): Promise<readonly unknown[]> => {
    const json = JSON.stringify([event.type, 1, event.time, event.data]);
    const line = checksum(json, { session: "s", position: base + 1 }) + json;
    return await sql(`SELECT accepted FROM m_old.append('{s}', '{${base}}', '{NULL}', '{${base + 1}}', '{1}', '{1}',
      '{1}', '{${base + 1}}', '${line}', '{}', '{}', '{}', '{}', '{}')`);
  };
  await appendBefore(0);
  const tables =
    "SELECT relfilenode FROM pg_class WHERE relkind = 'r' AND relnamespace = 'm_old'::regnamespace";
  const old = await sql(tables);
  await using log = await open("m_old");
  for (let time = 2; time < 80; time++) await log.append("s", "any", [{ ...event, time }]);
  expect(await sql(tables)).toEqual(expect.arrayContaining([...old]));
  // A process of the release before goes on behind an open row, and this one behind that.
  expect(await appendBefore(79)).toEqual([{ accepted: true }]);
  expect(await appendBefore(79)).toEqual([{ accepted: false }]);
  await log.append("s", "any", [event]);
  const positions = Array.from({ length: 81 }, (_, index) => index + 1);
  const stored = await Array.fromAsync(log.read("s"));
  expect(stored.map(({ position }) => position)).toEqual(positions);
  const ordered = await Array.fromAsync(log.readAll());
  expect(ordered.map(({ position, event: { position: at } }) => [position, at])).toEqual(
    positions.map((at) => [at, at]),
  );
  // That process reads the global order by its name.
  expect(
    await sql("SELECT position::int, first::int, count::int FROM m_old.runs ORDER BY position"),
  ).toEqual(positions.map((at) => ({ position: at, first: at, count: 1 })));
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
    expect(
      await sql("SELECT count(DISTINCT version) = count(*) AS once FROM m_race.migrations"),
    ).toEqual([{ once: true }]);
    await Promise.all(logs.map((log) => log.close()));
  });
});
