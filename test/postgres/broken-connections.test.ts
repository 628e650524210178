/**
 * Connections that break in the middle of an append: before the server gets it, and after it committed. The log
 * finds out, and events are in it once, in order.
 */

import pg from "pg";
import { describe, expect, it } from "vitest";
import type { EventLog } from "../../src/events/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { numbered } from "../../src/testing/index.ts";
import { seededRandom } from "../support/random.ts";
import { lot, times } from "../support/runs.ts";
import { tcpProxy, type Cut } from "../support/tcp-proxy.ts";
import { serverOfFile } from "./server-of-file.ts";

const { server, several, needs } = await serverOfFile();

let schemas = 0;

async function proxied(): Promise<{
  readonly log: EventLog;
  readonly cut: (cut: Cut["at"]) => Promise<void>;
  readonly close: () => Promise<void>;
}> {
  const url = new URL(server?.connectionString ?? "");
  const proxy = await tcpProxy(url.hostname, Number(url.port));
  url.port = `${proxy.port}`;
  const schema = `b${schemas++}`;
  const log = await openPostgresLog({ connectionString: url.href, schema, pollingMs: 20 });
  return {
    log,
    cut: (at) => proxy.cutNext({ at, text: ".append(" }),
    async close() {
      await log.close();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

const timesOf = async (log: EventLog, session: string): Promise<readonly number[]> =>
  (await Array.fromAsync(log.read(session))).map(({ time }) => time - 1000);

describe.skipIf(!several)(`a log whose connections break${needs}`, () => {
  it.each(["before", "after"] as const)(
    "writes an append once whose connection was cut %s it was committed",
    async (at) => {
      const { log, cut, close } = await proxied();
      await log.append("s", "none", [numbered(1)]);
      const happened = cut(at);
      const appended = [log.append("s", 1, [numbered(2)]), log.append("s", 2, [numbered(3)])];
      await happened;
      const [second, third] = await Promise.all(appended);
      expect([second?.revision, third?.revision]).toEqual([2, 3]);
      expect(await timesOf(log, "s")).toEqual([1, 2, 3]);
      const all = await Array.fromAsync(log.readAll());
      expect(all.at(-1)?.position).toBe(third?.position);
      await close();
    },
  );

  it("says of an append at any position only that it failed, unless it finds it written", async () => {
    const { log, cut, close } = await proxied();
    await log.append("s", "any", [numbered(1)]);
    const before = cut("before");
    const lost = log.append("s", "any", [numbered(2)]);
    await Promise.all([before, expect(lost).rejects.toMatchObject({ code: "LOG_FAILED" })]);
    const after = cut("after");
    const kept = log.append("s", "any", [numbered(3)]);
    await after;
    expect((await kept).revision).toBe(2);
    expect(await timesOf(log, "s")).toEqual([1, 3]);
    await close();
  });

  it("loses and repeats nothing of many sessions, however often connections are cut or ended by the server", async () => {
    const { log, cut, close } = await proxied();
    const random = seededRandom(`connections ${lot}`);
    const sessions = ["a", "b", "c", "d"];
    const each = times(30, 60);
    const followed = Promise.all(
      sessions.map(async (session) => {
        const seen: number[] = [];
        for await (const { time } of log.subscribe(session)) {
          seen.push(time - 1000);
          if (seen.length === each) return seen;
        }
        return seen;
      }),
    );
    const killer = new pg.Client({ connectionString: server?.connectionString });
    await killer.connect();
    const phase = { isOver: false };
    const written = Promise.all(
      sessions.map(async (session) => {
        for (let number = 0; number < each; number++)
          await log.append(session, number === 0 ? "none" : number, [numbered(number)]);
      }),
    );
    const cutting = (async () => {
      while (!phase.isOver) {
        if (random.chance(0.3))
          await killer.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'turnlog'",
          );
        else await Promise.race([cut(random.pick(["before", "after"])), written]);
      }
    })();
    await written;
    phase.isOver = true;
    await cutting;
    const expected = Array.from({ length: each }, (_, index) => index);
    for (const session of sessions) expect(await timesOf(log, session)).toEqual(expected);
    for (const seen of await followed) expect(seen).toEqual(expected);
    await killer.end();
    await close();
  });
});
