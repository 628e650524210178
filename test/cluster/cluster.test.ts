/**
 * Three processes on one database answer messages for the same sessions, while they are killed and paused, their
 * connections are ended, and the server is killed and restarted. Then the database is read as it is.
 */

import { readFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { verifySession } from "../../src/archive/verify/index.ts";
import type { EventLog } from "../../src/events/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { bundled } from "../support/bundled.ts";
import { installedPostgres, startPostgres } from "../support/postgres-server.ts";
import { seededRandom, type Random } from "../support/random.ts";
import { lot, times } from "../support/runs.ts";
import { ClusterNode } from "./cluster-nodes.ts";

const programs = installedPostgres();
const wanted = process.env["TURNLOG_CLUSTER"] !== undefined && programs !== undefined;
const needs = wanted ? "" : " (needs `npm run test:cluster` and an installed server)";
const folder = await mkdtemp(join(tmpdir(), "turnlog-cluster-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const SESSIONS = ["a", "b", "c", "d", "e", "f"];
const SCHEMA = "cluster";

describe.skipIf(!wanted)(`three nodes under faults${needs}`, () => {
  it("deliver every accepted message once, in order, and never run a call twice", async () => {
    const seed = process.env["TURNLOG_SEED"] ?? `${lot}`;
    console.log(`TURNLOG_SEED=${seed} draws the same faults again.`);
    const random = seededRandom(`cluster ${seed}`);
    const child = await bundled(new URL("node-child.ts", import.meta.url), join(folder, "program"));
    const effects = join(folder, "effects");
    await using server = await startPostgres(programs ?? "");
    const ended = new Map<string, string>();
    const log = await openPostgresLog({
      connectionString: server.connectionString,
      schema: SCHEMA,
    });
    const followed = follow(log);
    const nodes = Array.from(
      { length: 3 },
      () => new ClusterNode([child, server.connectionString, SCHEMA, effects], ended),
    );
    const faults = { isOver: false, count: new Map<string, number>() };
    const harming = harm(nodes, server.connectionString, random, faults);
    const each = times(12, 60);
    const accepted = await Promise.all(
      SESSIONS.map((session) => sendAll(nodes, session, each, seededRandom(`${seed} ${session}`))),
    );
    faults.isOver = true;
    await harming;
    await atRest(log, accepted.flat());
    expect(await Promise.all(nodes.map((node) => node.stop()))).toEqual([0, 0, 0]);
    expect(nodes.flatMap(({ crashes }) => crashes)).toEqual([]);
    console.log("faults:", Object.fromEntries(faults.count));
    for (const [index, session] of SESSIONS.entries()) {
      expect(await delivered(log, session)).toEqual(accepted[index]);
      expect((await verifySession(log, session)).problems).toEqual([]);
    }
    const ran = (await readFile(effects, "utf8")).trim().split("\n");
    expect(ran.length).toBe(new Set(ran).size);
    await sameAsRead(log, followed);
    await log.close();
  });
});

/** One message after the other, to any node, again under the same id until one has accepted it. */
async function sendAll(
  nodes: readonly ClusterNode[],
  session: string,
  count: number,
  random: Random,
): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${session}${index}`);
  for (const id of ids)
    for (let isAccepted = false; !isAccepted;)
      isAccepted = (await nodes[random.below(nodes.length)]?.send(session, id)) ?? false;
  return ids;
}

async function harm(
  nodes: readonly ClusterNode[],
  connectionString: string,
  random: Random,
  faults: { isOver: boolean; readonly count: Map<string, number> },
): Promise<void> {
  while (!faults.isOver) {
    await setTimeout(200 + random.below(600));
    const node = nodes[random.below(nodes.length)];
    const fault = random.pick(["kill", "pause", "long pause", "terminate", "terminate"]);
    faults.count.set(fault, (faults.count.get(fault) ?? 0) + 1);
    if (fault === "kill") await node?.kill();
    else if (fault === "terminate") await terminate(connectionString);
    else {
      node?.pause();
      // The longer ones are longer than a lease: others take the sessions.
      await setTimeout(fault === "pause" ? random.below(500) : 2500);
      node?.resume();
    }
  }
}

/** Ends all connections, also those of the follower in this process. */
async function terminate(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'turnlog' AND pid <> pg_backend_pid()",
  );
  await client.end();
}

/** The ids of the delivered messages of a session in their order, without a fold of turnlog's. */
async function delivered(log: EventLog, session: string): Promise<readonly string[]> {
  const ids: string[] = [];
  let position = 0;
  for await (const event of log.read(session)) {
    expect(event.position).toBe(++position);
    if (event.type === "message.delivered") ids.push(...event.data.ids);
  }
  return ids;
}

async function atRest(log: EventLog, ids: readonly string[]): Promise<void> {
  const open = async (): Promise<number> => {
    const waiting = new Set(ids);
    let running = 0;
    for (const session of SESSIONS)
      for await (const { type, data } of log.read(session)) {
        if (type === "message.delivered") for (const id of data.ids) waiting.delete(id);
        if (type === "turn.started") running++;
        if (type === "turn.ended") running--;
      }
    return waiting.size + running;
  };
  await expect.poll(open, { interval: 300 }).toBe(0);
}

/** All events as a follower gets them, from before the first. */
function follow(log: EventLog): { readonly seen: Map<number, string>; readonly twice: string[] } {
  const seen = new Map<number, string>();
  const twice: string[] = [];
  void (async () => {
    for await (const { position, session, event } of log.subscribeAll()) {
      const name = `${session}:${event.position}`;
      if (seen.has(position)) twice.push(name);
      seen.set(position, name);
    }
  })().catch((error: unknown) => twice.push(String(error)));
  return { seen, twice };
}

async function sameAsRead(
  log: EventLog,
  { seen, twice }: ReturnType<typeof follow>,
): Promise<void> {
  const all = new Map<number, string>();
  for await (const { position, session, event } of log.readAll())
    all.set(position, `${session}:${event.position}`);
  await expect.poll(() => seen.size).toBe(all.size);
  expect([...seen]).toEqual([...all]);
  expect(twice).toEqual([]);
}
