/** What the cluster test asks the database sees each kind of loss and repetition that is planted. */

import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { alone, numbered } from "../../src/testing/index.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";
import { readThrough } from "./database-reader.ts";

const programs = installedPostgres();
const wanted = process.env["TURNLOG_CLUSTER"] !== undefined && programs !== undefined;
const server = wanted ? await startPostgres(programs) : await startPglite();
const client = new pg.Client({ connectionString: server.connectionString });

beforeAll(async () => {
  const { connectionString, connections } = server;
  const log = await openPostgresLog({ connectionString, connections, schema: "c", listen: false });
  for (const session of ["a", "b"]) {
    await log.append(session, "none", [alone(1, "one"), alone(2), alone(3, "three")]);
    await log.append(session, "any", [numbered(4), numbered(5), numbered(6)]);
    await log.append(session, "any", [alone(7)]);
  }
  await log.close();
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await server[Symbol.asyncDispose]();
});

const of = (session: string): string =>
  `session = (SELECT number FROM c.sessions WHERE id = '${session}')`;
const middle = `${of("a")} AND position = 2`;
const last = `${of("a")} AND position = 7`;

/** Statements by what they do. */
const plants: Readonly<Record<string, string>> = {
  "an event in the middle is gone": `DELETE FROM c.events WHERE ${middle}`,
  "the last event is gone": `DELETE FROM c.events WHERE ${last}`,
  "all events of a session are gone": `DELETE FROM c.events WHERE ${of("a")}`,
  "the last event is gone, and the session's length fits": `DELETE FROM c.events WHERE ${last}; UPDATE c.sessions SET revision = 6 WHERE id = 'a'`,
  "an event is there twice": `INSERT INTO c.events SELECT session, 8, line FROM c.events WHERE ${last};
    UPDATE c.sessions SET revision = 8 WHERE id = 'a'`,
  "two events have changed places": `UPDATE c.events SET line = (SELECT line FROM c.events o
    WHERE o.session = events.session AND o.position = 5 - events.position) WHERE ${of("a")} AND position IN (2, 3)`,
  "an event of another session": `UPDATE c.events SET line = (SELECT line FROM c.events WHERE ${of("b")} AND position = 2)
    WHERE ${middle}`,
  "one character of an event is another one": `UPDATE c.events SET line = replace(line, 'text 2', 'text 3') WHERE ${middle}`,
  "a session is longer than its events": "UPDATE c.sessions SET revision = 8 WHERE id = 'a'",
  "a session is shorter than its events": "UPDATE c.sessions SET revision = 6 WHERE id = 'a'",
  "an id is not known": `DELETE FROM c.event_ids WHERE ${of("a")} AND position = 1`,
  "an id is of another position": `UPDATE c.event_ids SET position = 2 WHERE ${of("a")} AND position = 1`,
  "an id has no event": `INSERT INTO c.event_ids SELECT session, '"four"', 4, 1 FROM c.event_ids WHERE ${of("a")} AND position = 1`,
  "the global order lacks rows": "DELETE FROM c.batches",
  "the global order has a row twice":
    "INSERT INTO c.batches SELECT position + 100000, last + 100000, shares FROM c.batches",
  "a position of the global order is given twice":
    "INSERT INTO c.batches SELECT 2, 2, number || ',1' FROM c.sessions WHERE id = 'b'",
};

describe("the reader of the database", () => {
  it("finds nothing in a log as it was written", async () => {
    const { problems, sessions, order } = await readThrough(client, "c");
    expect(problems).toEqual([]);
    expect([...sessions.values()].map(({ length }) => length)).toEqual([7, 7]);
    expect(order.size).toBe(14);
  });

  it.each(Object.entries(plants))("sees that %s", async (_, statement) => {
    await client.query("BEGIN");
    try {
      await client.query(statement);
      expect((await readThrough(client, "c")).problems).not.toEqual([]);
    } finally {
      await client.query("ROLLBACK");
    }
  });
});
