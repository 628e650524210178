/** A runtime on PostgreSQL: a turn, its next process, and a second runtime that runs the same session. */

import { afterAll, expect, it } from "vitest";
import type { Agent } from "../../src/agent/index.ts";
import type { EventLog } from "../../src/events/index.ts";
import { createRuntime } from "../../src/runtime/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { verifySession } from "../../src/archive/verify/index.ts";
import { installedPostgres, startPglite, startPostgres } from "../support/postgres-server.ts";

const programs = installedPostgres();
const wanted = process.env["TURNLOG_POSTGRES"] !== undefined;
const server =
  wanted && programs !== undefined ? await startPostgres(programs) : await startPglite();
afterAll(() => server[Symbol.asyncDispose]());

let schemas = 0;
const open = (schema: string): Promise<EventLog> =>
  openPostgresLog({
    connectionString: server.connectionString,
    connections: server.connections,
    schema,
  });
const says = (text: string): Agent => ({ model: scriptedModel([text, "Again."]) });

it("runs a turn, and the next process goes on from the database", async () => {
  const schema = `r${schemas++}`;
  const first = await open(schema);
  {
    await using runtime = await createRuntime({ log: first, agent: says("Hello.") });
    const session = await runtime.session("team/1");
    const { text } = await (await session.send("Hi")).result;
    expect(text).toBe("Hello.");
  }
  await first.close();
  const second = await open(schema);
  {
    await using runtime = await createRuntime({ log: second, agent: says("And you?") });
    const session = await runtime.session("team/1");
    const { text } = await (await session.send("Go on")).result;
    expect(text).toBe("And you?");
    expect((await session.view()).prompt).toHaveLength(4);
    expect((await verifySession(second, "team/1")).problems).toEqual([]);
  }
  await second.close();
});
