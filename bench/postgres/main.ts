/**
 * `npm run bench:postgres`: the log on a PostgreSQL server that it starts, fsync on. Bars are ratios of one run, so
 * that they travel. `-- --part appends` (or `bytes`, `turns`, `latency`, `takeover`, `opening`) runs one part.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundled } from "../../test/support/bundled.ts";
import { isPgbouncerInstalled, startPgbouncer } from "../../test/support/pgbouncer.ts";
import { installedPostgres, startPostgres } from "../../test/support/postgres-server.ts";
import { machineName } from "../machine.ts";
import { median } from "../statistics.ts";
import { table } from "../table.ts";
import { measureAppends } from "./appends.ts";
import { measureBytes } from "./bytes.ts";
import { measureLatency } from "./latency.ts";
import { measureOpening } from "./opening.ts";
import { measureTakeovers } from "./takeover.ts";
import { measureTurns } from "./turns.ts";

const programs = installedPostgres();
if (programs === undefined) throw new Error("Install PostgreSQL: apt-get install postgresql");
const { part } = parseArgs({ options: { part: { type: "string" } } }).values;

const bars: string[][] = [["", "measured", "bar", ""]];
function bar(what: string, measured: number, limit: number, isLeast = false): void {
  const holds = isLeast ? measured >= limit : measured <= limit;
  const sign = isLeast ? "≥" : "≤";
  bars.push([what, measured.toFixed(2), `${sign} ${limit}`, holds ? "holds" : "MISSED"]);
}

const load = (): string =>
  loadavg()
    .map((value) => value.toFixed(1))
    .join(" ");
const folder = await mkdtemp(join(tmpdir(), "turnlog-bench-"));
await using server = await startPostgres(programs);
const { connectionString } = server;
const follower = await bundled(
  new URL("follower-child.ts", import.meta.url),
  join(folder, "follower"),
);
console.log(`${machineName()}; load ${load()} before`);

const parts: Readonly<Record<string, () => Promise<void>>> = {
  async appends() {
    for (const [size, rounds] of [
      [1, 60],
      [100, 12],
    ] as const) {
      const runs = [];
      for (let run = 0; run < 3; run++)
        runs.push(await measureAppends(connectionString, size, rounds, run));
      const ratio = median(runs.map(({ perSecond, plainPerSecond }) => perSecond / plainPerSecond));
      for (const { events, batches, perSecond, plainPerSecond } of runs)
        console.log(
          `256 sessions, ${size} an append: ${events} events in ${batches} batches, ${Math.round(perSecond)} a second; plain ${Math.round(plainPerSecond)}`,
        );
      bar(`appends of 256 sessions ÷ plain INSERT, ${size} an append`, ratio, 0.6, true);
    }
  },
  async bytes() {
    const { deltas, contentBytes, databaseBytes, byTable } = await measureBytes(
      connectionString,
      20,
    );
    console.log(`${deltas} deltas, ${contentBytes} bytes of content; tables:`, byTable);
    bar("bytes in the database ÷ content, after VACUUM", databaseBytes / contentBytes, 3);
  },
  async turns() {
    const turns = await measureTurns(connectionString, follower, 7);
    console.log("CPU of a turn of 200 deltas, ms:", turns);
    bar("CPU of a turn ÷ on LevelDB", turns.oneNodeMs / turns.levelMs, 2);
    bar("CPU of a turn with a second node ÷ with one", turns.twoNodesMs / turns.oneNodeMs, 1.2);
  },
  async latency() {
    for (const listen of [true, false]) {
      const { p50, p99 } = await measureLatency(connectionString, follower, {
        listen,
        appends: 600,
      });
      console.log(`append to follower, ${listen ? "LISTEN" : "polling"}: p50 ${p50.toFixed(1)} ms`);
      bar(
        `p99 from append to follower, ${listen ? "LISTEN" : "polling each 250 ms"}, ms`,
        p99,
        listen ? 50 : 300,
      );
    }
  },
  async takeover() {
    const node = await bundled(
      new URL("../../test/postgres/slow-node.ts", import.meta.url),
      join(folder, "node"),
    );
    const direct = await measureTakeovers(connectionString, connectionString, node, {
      listen: true,
      kills: 5,
    });
    console.log("takeovers, ms:", direct.map(Math.round));
    bar("takeover after SIGKILL, the longest of 5, ms", Math.max(...direct), 3000);
    if (!isPgbouncerInstalled) return console.log("takeover through PgBouncer: not installed");
    await using pooler = await startPgbouncer(connectionString);
    const pooled = await measureTakeovers(connectionString, pooler.connectionString, node, {
      listen: false,
      kills: 5,
    });
    console.log("takeovers through PgBouncer, ms:", pooled.map(Math.round));
    bar("takeover through PgBouncer, the longest of 5, ms", Math.max(...pooled), 3000);
  },
  async opening() {
    const [few, many] = await measureOpening(connectionString, [100, 100_000]);
    console.log("opening a session, ms:", few, many);
    bar(
      "opening one of 100,000 sessions ÷ one of 100",
      (many?.ms ?? Number.NaN) / (few?.ms ?? 1),
      2,
    );
  },
};
for (const [name, measure] of Object.entries(parts))
  if (part === undefined || part === name) await measure();
console.log(table(bars));
console.log(`load ${load()} after`);
await rm(folder, { recursive: true, force: true });
