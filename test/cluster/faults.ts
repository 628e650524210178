/** The faults of a cluster test. Each is drawn by lot; those that take long run beside the next ones. */

import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { z } from "zod";
import { createCodec } from "../../src/events/index.ts";
import { numbered } from "../../src/testing/index.ts";
import type { TestServer } from "../support/postgres-server.ts";
import type { Random } from "../support/random.ts";
import type { ClusterNode } from "./cluster-nodes.ts";

const HOUR_MS = 3_600_000;
/** Longer than a lease: another node has the sessions when the owner wakes up. */
const OVERSLEPT_MS = 2600;

const LISTENS = "query LIKE 'LISTEN%'";
const APPENDS = "state = 'active' AND query LIKE '%.append(%'";
const OURS = "application_name = 'turnlog'";

const kinds = [
  "kill",
  "kill, then a wrong clock",
  "kill, then the other release",
  "short pause",
  "pause longer than the lease",
  "connections dropped",
  "connections held back",
  "connection cut before an append",
  "connection cut after an append",
  "appends terminated",
  "listeners terminated",
  "all connections terminated",
  "server killed",
  "commits out of order",
  "old snapshot held",
  "stale owner's write",
] as const;
type Kind = (typeof kinds)[number];

export interface FaultsOptions {
  readonly nodes: readonly ClusterNode[];
  /** The bundled releases. */
  readonly programs: readonly [string, string];
  readonly server: TestServer;
  readonly schema: string;
  readonly random: Random;
}

const refusedSchema = z.array(z.object({ accepted: z.boolean(), moved: z.boolean() }));

export class Faults {
  readonly #options: FaultsOptions;
  readonly count = new Map<Kind, number>();
  readonly #long = new Set<Promise<unknown>>();
  /** Nodes that are paused. */
  readonly #asleep = new Set<ClusterNode>();
  #probes = 0;
  /** Writes of an epoch that was over, and those of them that only the epoch could refuse. */
  readonly stale = { tried: 0, byEpoch: 0, accepted: 0 };

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  get total(): number {
    return [...this.count.values()].reduce((sum, count) => sum + count, 0);
  }

  async next(): Promise<void> {
    const { random } = this.#options;
    const drawn = random.pick(kinds);
    // A killed server stops everything for a second.
    const kind = drawn === "server killed" && random.chance(0.6) ? "short pause" : drawn;
    this.count.set(kind, (this.count.get(kind) ?? 0) + 1);
    await this.#cause(kind);
  }

  /** Ends those that are still under way. */
  async over(): Promise<void> {
    await Promise.all(this.#long);
  }

  async #cause(kind: Kind): Promise<void> {
    const { nodes, programs, server, random } = this.#options;
    const node = nodes[random.below(nodes.length)];
    if (node === undefined || this.#asleep.has(node)) return;
    switch (kind) {
      case "kill":
        return await node.kill();
      case "kill, then a wrong clock":
        return await node.kill({ clock: (random.below(48) - 24) * HOUR_MS });
      case "kill, then the other release":
        // The first node can run all sessions.
        return await node.kill(node === nodes[0] ? {} : { program: random.pick(programs) });
      case "short pause":
        return this.#beside(this.#pause(node, random.below(500)));
      case "pause longer than the lease":
        return this.#beside(this.#pause(node, OVERSLEPT_MS + random.below(1000)));
      case "connections dropped":
        return node.database.drop();
      case "connections held back":
        return this.#beside(node.database.holdBack(100 + random.below(2500)));
      case "connection cut before an append":
        return void node.database.cutNext({ at: "before", text: ".append(" });
      case "connection cut after an append":
        return void node.database.cutNext({ at: "after", text: ".append(" });
      case "appends terminated":
        return await this.#terminate(APPENDS);
      case "listeners terminated":
        return await this.#terminate(LISTENS);
      case "all connections terminated":
        return await this.#terminate("true");
      case "server killed":
        return await server.crash();
      case "commits out of order":
        return this.#beside(this.#outOfOrder(random.below(700)));
      case "old snapshot held":
        return this.#beside(this.#holdSnapshot(random.below(3000)));
      case "stale owner's write":
        return await this.#staleWrite();
    }
  }

  #beside(work: Promise<unknown>): void {
    this.#long.add(work);
    void work.finally(() => this.#long.delete(work));
  }

  async #pause(node: ClusterNode, ms: number): Promise<void> {
    this.#asleep.add(node);
    node.pause();
    await setTimeout(ms);
    node.resume();
    this.#asleep.delete(node);
  }

  async #terminate(which: string): Promise<void> {
    await this.#sql((client) =>
      client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${OURS} AND ${which}`,
      ),
    );
  }

  /** An append takes positions and commits late; another one that has taken later positions commits first. */
  async #outOfOrder(ms: number): Promise<void> {
    const { schema } = this.#options;
    const late = this.#sql(async (client) => {
      await client.query("BEGIN");
      await client.query(appendTo(schema, `probe${this.#probes++}`));
      await setTimeout(ms);
      await client.query("COMMIT");
    });
    const soon = this.#sql((client) => client.query(appendTo(schema, `probe${this.#probes++}`)));
    await Promise.all([late, soon]);
  }

  async #holdSnapshot(ms: number): Promise<void> {
    const { schema } = this.#options;
    await this.#sql(async (client) => {
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
      await client.query(`SELECT count(*) FROM ${schema}.events`);
      await setTimeout(ms);
      await client.query("COMMIT");
    });
  }

  /** What an owner that lost its session would write: the right position, the epoch before. */
  async #staleWrite(): Promise<void> {
    const { schema } = this.#options;
    await this.#sql(async (client) => {
      const { rows } = await client.query(
        `SELECT a.accepted, a.revision <> s.revision AS moved
         FROM (SELECT * FROM ${schema}.sessions WHERE epoch > 0 AND revision > 0 ORDER BY random() LIMIT 4) s,
         LATERAL ${schema}.append(ARRAY[s.id], ARRAY[s.revision], ARRAY[s.epoch - 1], ARRAY[s.revision + 1],
           ARRAY[0::float8], ARRAY[0::float8], ARRAY[1], ARRAY[s.revision + 1], 'stale',
           '{}', '{}', '{}', '{}', '{}') a`,
      );
      for (const { accepted, moved } of refusedSchema.parse(rows)) {
        this.stale.tried++;
        if (accepted) this.stale.accepted++;
        else if (!moved) this.stale.byEpoch++;
      }
    });
  }

  /** A server that is down has faults enough: the work is left out. */
  async #sql(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
    const { connectionString } = this.#options.server;
    const client = new pg.Client({ connectionString, application_name: "faults" });
    client.on("error", () => {});
    try {
      await client.connect();
      await work(client);
      await client.end();
    } catch {
      client.connection.stream.destroy();
    }
  }
}

function appendTo(schema: string, session: string): string {
  const line = createCodec().encode(numbered(1), { session, position: 1 });
  return `SELECT * FROM ${schema}.append(ARRAY['${session}'], ARRAY[0], ARRAY[NULL::bigint], ARRAY[1],
    ARRAY[1001::float8], ARRAY[1001::float8], ARRAY[1], ARRAY[1], '${line}', '{}', '{}', '{}', '{}', '{}')`;
}
