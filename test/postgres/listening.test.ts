/**
 * Processes hear of each other by LISTEN and NOTIFY. The next poll is an hour away in these tests, so what arrives
 * was told; behind PgBouncer in transaction mode nothing is told, and polling finds all.
 */

import pg from "pg";
import { describe, expect, it } from "vitest";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { createRuntime } from "../../src/public/index.ts";
import type { EventLog } from "../../src/events/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { numbered } from "../../src/testing/index.ts";
import { saying } from "../support/script.ts";
import { runSql } from "../support/run-sql.ts";
import { serverOfFile } from "./server-of-file.ts";

const { server, several, needs } = await serverOfFile();

const HOUR_MS = 3_600_000;
let schemas = 0;

async function two(): Promise<readonly [EventLog, EventLog]> {
  const schema = `l${schemas++}`;
  const open = (): Promise<EventLog> =>
    openPostgresLog({
      connectionString: server?.connectionString ?? "",
      schema,
      pollingMs: HOUR_MS,
    });
  return [await open(), await open()];
}

async function sql(text: string): Promise<void> {
  await runSql(server?.connectionString, text);
}

/** The values of a subscription, one at a time. */
async function next<Value>(values: AsyncIterator<Value, unknown>): Promise<Value> {
  const { value, done } = await values.next();
  if (done === true) throw new Error("The subscription has ended.");
  return value;
}

const LISTENERS = "FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";

describe.skipIf(!several)(`logs that hear of each other${needs}`, () => {
  it("show a follower the events of another process without waiting for the next poll", async () => {
    const [one, other] = await two();
    const single = other.subscribe("s")[Symbol.asyncIterator]();
    const all = other.subscribeAll()[Symbol.asyncIterator]();
    for (const number of [1, 2, 3]) {
      await one.append("s", "any", [numbered(number)]);
      expect((await next(single)).time).toBe(1000 + number);
      expect((await next(all)).event.time).toBe(1000 + number);
    }
    // Of another session.
    await one.append("t", "any", [numbered(4)]);
    expect((await next(all)).session).toBe("t");
    await Promise.all([one.close(), other.close()]);
  });

  it("listen again when the connection was ended, and miss nothing of the time between", async () => {
    const [one, other] = await two();
    const single = other.subscribe("s")[Symbol.asyncIterator]();
    await one.append("s", "any", [numbered(1)]);
    expect((await next(single)).time).toBe(1001);
    for (const number of [2, 3]) {
      await sql(`SELECT pg_terminate_backend(pid) ${LISTENERS}`);
      await one.append("s", "any", [numbered(number)]);
      expect((await next(single)).time).toBe(1000 + number);
    }
    await Promise.all([one.close(), other.close()]);
  });

  it("execute a command for a session that another process runs, and answer it, at once", async () => {
    const [one, other] = await two();
    const waits = gate();
    const agent = { model: scriptedModel([saying("Hel", waits, "lo.")]) };
    const first = await createRuntime({ log: one, agent });
    const second = await createRuntime({ log: other, agent: { model: scriptedModel([]) } });
    const turn = await (await first.session("s")).send("Hi");
    await waits.reached;
    const there = await second.session("s");
    expect(await there.cancel({ reason: "enough" })).toMatchObject({ ended: "cancelled" });
    expect((await turn.result).finishReason).toBe("cancelled");
    await first.close();
    await second.close();
    await Promise.all([one.close(), other.close()]);
  });

  it("keep no connection when they are closed", async () => {
    const [one, other] = await two();
    const single = other.subscribe("s")[Symbol.asyncIterator]();
    await one.append("s", "any", [numbered(1)]);
    await next(single);
    await Promise.all([one.close(), other.close()]);
    const client = new pg.Client({ connectionString: server?.connectionString });
    await client.connect();
    const open = async (): Promise<unknown> =>
      (
        await client.query(
          "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'turnlog'",
        )
      ).rows;
    await expect.poll(open).toEqual([{ n: 0 }]);
    await client.end();
  });
});
