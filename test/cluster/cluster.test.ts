/**
 * Three processes on one database, behind a proxy, answer messages for the same sessions under faults. Then the
 * database is read as it is.
 */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { verifySession } from "../../src/archive/verify/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { bundled } from "../support/bundled.ts";
import { eventually } from "../support/eventually.ts";
import { installedPostgres, startPostgres } from "../support/postgres-server.ts";
import { seededRandom } from "../support/random.ts";
import { lot, times } from "../support/runs.ts";
import { tcpProxy } from "../support/tcp-proxy.ts";
import { ClusterNode } from "./cluster-nodes.ts";
import { readDatabase, type Stored } from "./database-reader.ts";
import { Faults } from "./faults.ts";
import { followAll, followSession } from "./followers.ts";
import { openFront } from "./front.ts";
import { sendAll } from "./sender.ts";

const programs = installedPostgres();
const wanted = process.env["TURNLOG_CLUSTER"] !== undefined && programs !== undefined;
const needs = wanted ? "" : " (needs `npm run test:cluster` and an installed server)";
const folder = await mkdtemp(join(tmpdir(), "turnlog-cluster-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The last two are of an agent that only one of the two releases has. */
const SESSIONS = ["a", "b", "c", "d", "e", "f", "g", "h"];
const agentOf = (session: string): string => (session >= "g" ? "second" : "first");
const SCHEMA = "cluster";

describe.skipIf(!wanted)(`three nodes under faults${needs}`, () => {
  it("deliver every accepted message once, in order, and never run a call twice", async () => {
    const seed = process.env["TURNLOG_SEED"] ?? `${lot}`;
    console.log(`TURNLOG_SEED=${seed} draws the same faults again.`);
    const random = seededRandom(`cluster ${seed}`);
    const source = new URL("node-child.ts", import.meta.url);
    const newer = await bundled(source, join(folder, "newer"));
    const older = await bundled(source, join(folder, "older"), { ONLY_FIRST: "true" });
    const effects = join(folder, "effects");
    await using server = await startPostgres(programs ?? "");
    const log = await openPostgresLog({
      connectionString: server.connectionString,
      schema: SCHEMA,
    });
    const nodes = await Promise.all(
      [newer, newer, older].map(async (program) => {
        const { hostname, port } = new URL(server.connectionString);
        const proxy = await tcpProxy(hostname, Number(port));
        const url = new URL(server.connectionString);
        url.port = `${proxy.port}`;
        return new ClusterNode([url.href, SCHEMA, effects], proxy, { program, clock: 0 });
      }),
    );
    await using _ = {
      async [Symbol.asyncDispose]() {
        await Promise.all(nodes.map((node) => node.end()));
        await Promise.all(nodes.map(({ database }) => database[Symbol.asyncDispose]()));
      },
    };
    const up = (): readonly number[] => nodes.flatMap(({ port }) => port ?? []);
    await eventually(() => {
      expect(up()).toHaveLength(3);
    });
    await using front = await openFront(up, seededRandom(`front ${seed}`));
    const all = followAll(log);
    const followed = SESSIONS.map((session) => followSession(front.url, session));
    const faults = new Faults({ nodes, programs: [newer, older], server, schema: SCHEMA, random });
    const [messages, wantedFaults] = [times(8, 50), times(30, 100)];
    const progress = { accepted: 0, isOver: false };
    const harming = (async () => {
      while (!progress.isOver) {
        const due = progress.accepted + random.below(7);
        const latest = performance.now() + 3000;
        do await setTimeout(50);
        while (progress.accepted < due && performance.now() < latest && !progress.isOver);
        await faults.next();
      }
    })();
    const accepted = await Promise.all(
      SESSIONS.map((session) =>
        sendAll(front.url, { session, agent: agentOf(session) }, (sent) => {
          if (sent > 0) progress.accepted++;
          return sent < messages || faults.total < wantedFaults;
        }),
      ),
    );
    progress.isOver = true;
    await harming;
    await faults.over();
    console.log("faults:", faults.total, Object.fromEntries(faults.count));
    console.log("messages:", accepted.flat().length, "stale writes:", faults.stale);
    const read = (): Promise<Stored> => readDatabase(server.connectionString, SCHEMA);
    const open = async (): Promise<readonly string[]> => openIn(await read(), accepted.flat());
    await expect.poll(open, { interval: 500 }).toEqual([]);
    const stored = await read();
    for (const follower of followed) await follower.caughtUp(stored);
    await all.caughtUp(stored);
    expect(await Promise.all(nodes.map((node) => node.stop()))).toEqual([0, 0, 0]);
    expect(nodes.flatMap(({ crashes }) => crashes)).toEqual([]);
    expect(nodes.flatMap((node) => node.problems)).toEqual([]);
    expect(stored.problems).toEqual([]);
    expect(faults.stale.accepted).toBe(0);
    for (const [index, session] of SESSIONS.entries()) {
      expect(deliveredIn(stored, session)).toEqual(accepted[index]);
      expect((await verifySession(log, session)).problems).toEqual([]);
    }
    const ran = (await readFile(effects, "utf8")).trim().split("\n");
    expect(ran.length).toBe(new Set(ran).size);
    await log.close();
  });
});

const deliveredSchema = z.object({ ids: z.array(z.string()) });

/** The ids of the delivered messages of a session in their order. */
function deliveredIn({ sessions }: Stored, session: string): readonly string[] {
  return (sessions.get(session) ?? []).flatMap(({ type, data }) =>
    type === "message.delivered" ? deliveredSchema.parse(data).ids : [],
  );
}

/** Messages that wait, and sessions whose turn runs. */
function openIn(stored: Stored, ids: readonly string[]): readonly string[] {
  const delivered = new Set(SESSIONS.flatMap((session) => deliveredIn(stored, session)));
  const running = SESSIONS.filter((session) => {
    const types = (stored.sessions.get(session) ?? []).map(({ type }) => type);
    return types.lastIndexOf("turn.started") > types.lastIndexOf("turn.ended");
  });
  return [...ids.filter((id) => !delivered.has(id)), ...running];
}
