/**
 * A service of many tenants that is killed again and again in the middle of its work: nothing that it accepted is
 * lost or done twice, its read model equals a fold from the beginning, and no tenant sees another's sessions.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  openLog,
  verifyLog,
  type EventLog,
  type Runtime,
} from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { bundled } from "../support/bundled.ts";
import { seededRandom } from "../support/random.ts";
import { lot, patience, times } from "../support/runs.ts";
import { dueSchema, lifeSchema, modelRow, tenantOf, type ServicePlan } from "./service-plan.ts";

/** In a long run of the usual factor 10,000 sessions of 100 tenants, and 100 kills. */
const sessions = times(12, 2000);
const tenants = times(3, 20);
const kills = times(2, 20);

/** A second on an idle machine; the same work takes up to three times the CPU of a busy one. */
const MOST_CPU_MS = 3000;

let dir: string;
/** How each life ended. */
const ends: string[] = [];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "turnlog-service-"));
  const child = await bundled(new URL("service-child.ts", import.meta.url), join(dir, "child"));
  const random = seededRandom(`service ${lot}`);
  for (let life = 0; life < kills; life++) {
    const to = Math.ceil(((life + 1) * sessions) / kills);
    const dieAfter = 1 + random.below((8 * sessions) / kills);
    ends.push(await run(child, { dir, tenants, to, life, dieAfter }));
  }
  ends.push(await run(child, { dir, tenants, to: sessions, life: kills }));
}, patience);
afterAll(() => rm(dir, { recursive: true, force: true }));

const endSchema = z.tuple([z.number().nullable(), z.string().nullable()]);

async function run(child: string, plan: ServicePlan): Promise<string> {
  const running = spawn(process.execPath, [child, JSON.stringify(plan)], {
    env: cleanEnvironment({}),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  running.stderr.setEncoding("utf8").on("data", (piece: string) => (stderr += piece));
  const [code, signal] = endSchema.parse(await once(running, "close"));
  return signal ?? (code === 0 ? "done" : stderr);
}

async function linesOf<Line>(file: string, schema: z.ZodType<Line>): Promise<readonly Line[]> {
  const lines = (await readFile(join(dir, file), "utf8")).split("\n").slice(0, -1);
  return lines.map((line) => schema.parse(JSON.parse(line)));
}

const opened = async (): Promise<EventLog> =>
  await openLog({ dir: join(dir, "store"), create: false });

describe("a service of many tenants that was killed again and again", () => {
  it("has died in each life but the last", () => {
    expect(ends).toEqual([...Array.from({ length: kills }, () => "SIGKILL"), "done"]);
  });

  it("has a read model that equals a fold from the beginning, and sound sessions", async () => {
    await using log = await opened();
    const folded = (await Array.fromAsync(log.readAll())).map(({ position, session, event }) => {
      const taken = event.type === "message.delivered" ? event.data.ids : [];
      return [position, session, event.position, event.type, taken];
    });
    expect(await linesOf("model.jsonl", modelRow)).toEqual(folded);
    const found = await verifyLog(log);
    expect(found.problems).toEqual([]);
    expect(found.sessions.flatMap(({ problems }) => problems)).toEqual([]);
    expect(found.sessions.length).toBeGreaterThanOrEqual(sessions);
  });

  it("has delivered each message that it accepted once, and resumed what it left", async () => {
    const accepted = await linesOf("accepted.jsonl", z.string());
    const own = (await linesOf("model.jsonl", modelRow)).filter(([, name]) => !name.includes("/"));
    const delivered = own.flatMap(([, , , , ids]) => ids);
    expect(delivered.toSorted()).toEqual([...new Set(accepted)].toSorted());
    expect(accepted.length).toBe(sessions + Math.ceil(sessions / 3));
    const lives = await linesOf("lives.jsonl", lifeSchema);
    expect(lives.flatMap(({ failed }) => failed)).toEqual([]);
    const last = lives.at(-1);
    expect(last?.life).toBe(kills);
  });

  it("has delivered no message before its time, and overdue ones soon after a restart", async () => {
    await using log = await opened();
    for (const { session, position, startedAt, cpuMs } of await linesOf("due.jsonl", dueSchema)) {
      const events = await Array.fromAsync(log.read(session, { to: position }));
      const due = events.at(-1);
      const id = due?.type === "message.rescheduled" ? due.data.id : "";
      const [notBefore = Infinity] = events.flatMap((event) =>
        event.type === "message.queued" && event.data.id === id ? (event.data.notBefore ?? []) : [],
      );
      expect(due?.time).toBeGreaterThanOrEqual(notBefore);
      const isOverdue = notBefore < startedAt;
      expect({ session, late: isOverdue && cpuMs > MOST_CPU_MS }).toEqual({ session, late: false });
    }
  });

  it("shows each tenant its own sessions and those of its agents, and refuses all others", async () => {
    await using log = await opened();
    const agents = {
      support: { model: scriptedModel([]) },
      research: { model: scriptedModel([]) },
    };
    await using runtime = await createRuntime({ log, agents, indexed: ["tenant"] });
    const all = Map.groupBy(
      await Array.fromAsync(runtime.sessions({})),
      ({ metadata }) => metadata?.["tenant"],
    );
    expect(all.size).toBe(tenants);
    for (let n = 0; n < tenants; n++) {
      const tenant = tenantOf(n, tenants);
      const own = all.get(tenant)?.map(({ session }) => session) ?? [];
      const foreign = all.get(tenantOf(n + 1, tenants))?.[0]?.session ?? "";
      const seen = await seenBy(runtime, tenant, foreign);
      expect(seen).toEqual({ listed: own.toSorted(), foreign: 403 });
      expect(own.filter((name) => !name.includes("/"))).toHaveLength(
        Array.from({ length: sessions }, (_, index) => tenantOf(index, tenants)).filter(
          (name) => name === tenant,
        ).length,
      );
    }
  });
});

/** What a tenant gets from the server. */
async function seenBy(runtime: Runtime, tenant: string, foreign: string): Promise<object> {
  const server = createServer(runtime, { token: false, authorize: () => ({ where: { tenant } }) });
  const base = "http://localhost/api/sessions";
  const page = z.object({
    sessions: z.array(z.object({ session: z.string() })),
    next: z.string().optional(),
  });
  const listed: string[] = [];
  let after: string | undefined;
  do {
    const url = `${base}?limit=7${after === undefined ? "" : `&after=${after}`}`;
    const answer = await server.fetch(new Request(url));
    const { sessions: rows, next } = page.parse(await answer.json());
    listed.push(...rows.map(({ session }) => session));
    after = next;
  } while (after !== undefined);
  const other = await server.fetch(new Request(`${base}/${encodeURIComponent(foreign)}`));
  return { listed: listed.toSorted(), foreign: other.status };
}
