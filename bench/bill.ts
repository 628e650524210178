/**
 * `npm run bench:bill`: how soon a new process says what the tenants of 10,000 sessions spent, from the sums that an
 * earlier process stored. Users differ so much that nearly every session has a cell of its own. `-- --sessions 100
 * --rounds 1` for less, `-- --postgres` on a PostgreSQL server that it starts. Times on a clock need an idle machine.
 */

import { execFile } from "node:child_process";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { z } from "zod";
import type { NewEvent, SessionEvent } from "../src/events/index.ts";
import { scriptedModel } from "../src/models/index.ts";
import { createRuntime } from "../src/public/index.ts";
import { installedPostgres, startPostgres } from "../test/support/postgres-server.ts";
import { openedLog } from "./bill-log.ts";
import { inFolder } from "./folder.ts";
import { machineName } from "./machine.ts";
import { median, spread } from "./statistics.ts";
import { table } from "./table.ts";

const BAR_MS = 50;
const [TENANTS, USERS, DAYS] = [100, 1000, 30];
const DAY_MS = 86_400_000;
const AT_ONCE = 250;
/** Sessions since the sums were stored, which happens each 2,000 events. */
const NEWER = 150;

const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "10000" },
    rounds: { type: "string", default: "15" },
    postgres: { type: "boolean", default: false },
  },
});
const [sessions, rounds] = [Number(values.sessions), Number(values.rounds)];
const askedSchema = z.object({
  took: z.array(z.object({ wallMs: z.number(), cpuMs: z.number() })),
  calls: z.int(),
});
type Asked = z.infer<typeof askedSchema>;

const turn = await recordedTurn();
console.log(`${machineName()}; load ${loadavg()[0]?.toFixed(1)} before`);
await (values.postgres ? onServer(measure) : inFolder(measure));
console.log(`load ${loadavg()[0]?.toFixed(1)} after`);

async function onServer(work: (place: string) => Promise<void>): Promise<void> {
  const programs = installedPostgres();
  if (programs === undefined) throw new Error("Install PostgreSQL: apt-get install postgresql");
  await using server = await startPostgres(programs);
  await work(server.connectionString);
}

async function measure(place: string): Promise<void> {
  await fill(place, 0, sessions);
  {
    await using log = await openedLog(place);
    await using runtime = await createRuntime({ log, agent: { model: scriptedModel([]) } });
    await runtime.bill();
  }
  const stored = await askedOf(place, sessions);
  await fill(place, sessions, sessions + NEWER);
  const behind = await askedOf(place, sessions + NEWER);
  const first = (all: readonly Asked[]) => all.flatMap(({ took }) => took.slice(0, 1));
  console.log(
    table([
      [`the bill of ${sessions} sessions by tenant, ms`, "median", "least–most", "CPU", "bar", ""],
      row("the first question of a process", first(stored)),
      row(`the same, ${NEWER * turn.length} events behind`, first(behind)),
      row(
        "later questions",
        stored.flatMap(({ took }) => took.slice(1)),
      ),
    ]),
  );
}

function row(what: string, taken: Asked["took"]): readonly string[] {
  const { median: ms, min, max } = spread(taken.map(({ wallMs }) => wallMs));
  const cpu = median(taken.map(({ cpuMs }) => cpuMs)).toFixed(1);
  const verdict = ms <= BAR_MS ? "holds" : "MISSED";
  const range = `${min.toFixed(1)}–${max.toFixed(1)}`;
  return [what, ms.toFixed(1), range, cpu, `≤ ${BAR_MS}`, verdict];
}

async function askedOf(place: string, calls: number): Promise<readonly Asked[]> {
  const program = fileURLToPath(new URL("./bill-child.ts", import.meta.url));
  const all: Asked[] = [];
  for (let round = 0; round < rounds; round++) {
    const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", program, place]);
    const asked = askedSchema.parse(JSON.parse(stdout));
    if (asked.calls !== calls) throw new Error(`The bill has ${asked.calls} calls, not ${calls}.`);
    all.push(asked);
  }
  return all;
}

async function fill(place: string, from: number, to: number): Promise<void> {
  await using log = await openedLog(place);
  for (let first = from; first < to; first += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, to - first) }, (_, at) => first + at);
    await Promise.all(
      numbers.map((number) => {
        const events = turn.map((event) => ofSession(event, number));
        return log.append(`s-${number}`, "none", events);
      }),
    );
  }
}

async function recordedTurn(): Promise<readonly SessionEvent[]> {
  await using runtime = await createRuntime({
    memory: true,
    agent: { model: scriptedModel(["It is on its way."]) },
  });
  const session = await runtime.session("one", { metadata: { tenant: "TENANT" } });
  await (
    await session.send("Where is my order?", { by: "USER" })
  ).result;
  return await Array.fromAsync(runtime.log.read("one"));
}

/** An event of the recorded turn in another session, of another tenant and user, on another day. */
function ofSession({ position: _, ...event }: SessionEvent, number: number): NewEvent {
  const daysAgo = Math.max(0, DAYS * (1 - number / sessions));
  const text = JSON.stringify({ ...event, time: Math.floor(event.time - daysAgo * DAY_MS) })
    .replaceAll("TENANT", `t-${number % TENANTS}`)
    .replaceAll("USER", `u-${number % USERS}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(text) as NewEvent;
}
