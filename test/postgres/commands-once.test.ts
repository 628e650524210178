/**
 * A process is killed when it has executed a command and not answered it: the next process answers, and does not
 * execute it again.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { verifySession } from "../../src/archive/verify/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Session } from "../../src/public/index.ts";
import { giveStored } from "../../src/runtime/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { bundled } from "../support/bundled.ts";
import { installedPostgres, startPostgres, type TestServer } from "../support/postgres-server.ts";
import { startSlowNode } from "./slow-nodes.ts";

const programs = installedPostgres();
const wanted = process.env["TURNLOG_POSTGRES"] !== undefined && programs !== undefined;
const needs = wanted ? "" : " (needs `npm run test:postgres` and an installed server)";
let server: TestServer | undefined;
const folder = await mkdtemp(join(tmpdir(), "turnlog-once-"));
let program = "";
if (wanted) {
  server = await startPostgres(programs);
  program = await bundled(new URL("slow-node.ts", import.meta.url), folder);
}
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

let schemas = 0;

interface Stage {
  readonly session: Session;
  readonly log: Awaited<ReturnType<typeof openPostgresLog>>;
  /** Sends a message to the process that dies later. */
  readonly send: (id: string, options?: object) => Promise<void>;
  /** Kills that process when it has executed the command and is about to store the answer. */
  readonly killBeforeAnswer: () => Promise<void>;
}

async function onStage(act: (stage: Stage) => Promise<void>, words?: number): Promise<void> {
  const { connectionString = "" } = server ?? {};
  const schema = `once${schemas++}`;
  const log = await openPostgresLog({ connectionString, schema, pollingMs: 20 });
  const holder = new pg.Client({ connectionString });
  await holder.connect();
  await holder.query(`
    CREATE FUNCTION ${schema}.hold() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$;
    CREATE TRIGGER hold BEFORE UPDATE ON ${schema}.commands
      FOR EACH ROW EXECUTE FUNCTION ${schema}.hold();
    SELECT pg_advisory_lock(4711)`);
  await using node = await startSlowNode({
    program,
    connectionString,
    schema,
    ...(words === undefined ? {} : { words }),
  });
  const headers = { authorization: "Bearer secret", "content-type": "application/json" };
  const post = async (path: string, body: object): Promise<void> => {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    expect((await fetch(`${node.url}/api/sessions${path}`, init)).ok).toBe(true);
  };
  await post("", { id: "s" });
  const model = scriptedModel(() => "Later.");
  const runtime = await createRuntime({ log, agent: { model }, recovery: "continue" });
  try {
    await act({
      log,
      session: await runtime.session("s"),
      send: (id, options) => post("/s/queue", { message: id, id, ...options }),
      killBeforeAnswer: async () => {
        const waiting = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        const held = async (): Promise<number> => (await holder.query(waiting)).rows.length;
        await expect.poll(held, { timeout: 30_000 }).toBe(1);
        node.kill();
        await holder.query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS held`);
        await holder.query(`DROP TRIGGER hold ON ${schema}.commands; DELETE FROM ${schema}.nodes
          WHERE id = (SELECT owner FROM ${schema}.sessions WHERE id = 's')`);
      },
    });
    expect((await verifySession(log, "s")).problems).toEqual([]);
  } finally {
    // A command that is still held would keep the runtime from closing.
    await holder.end();
    await runtime.close();
    await log.close();
  }
}

const started = async ({ log }: Stage): Promise<number> => {
  const events = await Array.fromAsync(log.read("s"));
  return events.filter(({ type }) => type === "context.compaction-started").length;
};

describe.skipIf(!wanted)(`a process that dies before it answers a command${needs}`, () => {
  it("has cancelled a turn once", async () => {
    await onStage(async ({ session, log, send, killBeforeAnswer }) => {
      await send("a");
      await send("b");
      const cancelled = session.cancel({ reason: "enough", withdraw: true });
      await killBeforeAnswer();
      expect(await cancelled).toMatchObject({
        was: "streaming",
        turn: 1,
        ended: "cancelled",
        withdrawn: ["b"],
      });
      const events = await Array.fromAsync(log.read("s"));
      expect(events.filter(({ type }) => type === "turn.cancel-requested")).toHaveLength(1);
    }, 3000);
  });

  it("has withdrawn, compacted and rewound once", async () => {
    await onStage(async (stage) => {
      await stage.send("a");
      await stage.session.atRest();
      const compacted = stage.session.compact();
      await stage.killBeforeAnswer();
      expect((await compacted).type).toMatch(/^context\.compact/u);
      expect(await started(stage)).toBe(1);
    });
    await onStage(async ({ session, send, killBeforeAnswer }) => {
      await send("a");
      await session.atRest();
      const rewound = session.rewind({ beforeMessage: "a" }).catch((error: unknown) => error);
      await killBeforeAnswer();
      expect(await rewound).toMatchObject({ turns: [1], to: 1 });
    });
    await onStage(async ({ session, send, killBeforeAnswer }) => {
      await send("a");
      await session.atRest();
      await send("b", { notBefore: "2100-01-01T00:00:00Z" });
      const withdrawn = session.withdraw("b");
      await killBeforeAnswer();
      expect(await withdrawn).toBe(undefined);
    });
  });

  it("has rewound once for a program without a runtime", async () => {
    await onStage(async ({ session, log, send, killBeforeAnswer }) => {
      await send("a");
      await session.atRest();
      const rewound = giveStored(log, "s", "rewind", [{ beforeTurn: 1 }]);
      await killBeforeAnswer();
      expect(await rewound).toMatchObject({ turns: [1], to: 1 });
    });
  });
});
