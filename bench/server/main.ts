/**
 * `npm run bench:server`: many sessions that stream at once, each to a client of its own, beside the same load
 * on the runtime alone and on a bare Hono server that keeps nothing. Figures go to stdout.
 */

import { parseArgs } from "node:util";
import { machineName } from "../machine.ts";
import { table } from "../table.ts";
import { measure, type Load, type Measured } from "./measured.ts";

const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "1000" },
    seconds: { type: "string", default: "10" },
    followers: { type: "string", default: "500" },
    over: { type: "string", default: "1" },
  },
});

function countOf(name: keyof typeof values): number {
  const count = Number(values[name]);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new Error(`--${name} takes a whole number from 1 on, not "${values[name]}".`);
}

const EVERY_MS = 50;
const STALLED = 20;
const sessions = countOf("sessions");
const followers = countOf("followers");
const deltas = Math.round((countOf("seconds") * 1000) / EVERY_MS);

const many: Omit<Load, "kind"> = {
  sessions,
  clients: 1,
  stalled: 0,
  deltas,
  everyMs: EVERY_MS,
  size: 20,
  overMs: countOf("over") * 1000,
};
/** 20 MB: more than the buffers of both ends of a connection hold. */
const large: Load = {
  ...many,
  kind: "server",
  sessions: 1,
  clients: 5,
  deltas: 200,
  size: 100_000,
};

async function measured(name: string, load: Load): Promise<Measured> {
  const found = await measure(load);
  const row = [name, ...cells(load, found)];
  rows.push(row);
  process.stderr.write(`${row.join("  ")}\n`);
  return found;
}

const rows: string[][] = [
  [
    "",
    "CPU s",
    "wall s",
    "peak MB",
    "loop p99 ms",
    "deltas arrived",
    "p50 ms",
    "p99 ms",
    "late p99 ms",
  ],
];

function ranked(values: readonly number[], share: number): string {
  const sorted = values.toSorted((one, other) => one - other);
  return `${sorted[Math.floor(sorted.length * share)] ?? "–"}`;
}

function cells({ kind, sessions: each, clients, deltas: made }: Load, found: Measured): string[] {
  const { cpuMs, wallMs, peakMegabytes, delayP99Ms, arrivals } = found;
  const sinceMade = arrivals.map((each) => each.sinceMade);
  const sinceDue = arrivals.map((each) => each.sinceDue);
  const due = kind === "runtime" ? 0 : each * clients * made;
  return [
    (cpuMs / 1000).toFixed(1),
    (wallMs / 1000).toFixed(1),
    peakMegabytes.toFixed(0),
    delayP99Ms.toFixed(0),
    `${arrivals.length} of ${due}`,
    ranked(sinceMade, 0.5),
    ranked(sinceMade, 0.99),
    ranked(sinceDue, 0.99),
  ];
}

const alone = await measured("runtime alone", { ...many, kind: "runtime" });
const served = await measured("behind the server", { ...many, kind: "server" });
const bare = await measured("bare Hono, nothing kept", { ...many, kind: "bare" });
const one: Load = { ...many, kind: "server", sessions: 1, clients: followers };
await measured(`${followers} followers of one`, one);
const read = await measured("5 followers of 20 MB", large);
const stalled = await measured(`the same, and ${STALLED} that do not read`, {
  ...large,
  stalled: STALLED,
});
const perStalled = (stalled.heldMegabytes - read.heldMegabytes) / STALLED;

process.stdout.write(
  [
    machineName(),
    `${sessions} sessions that begin within ${values.over} s, a delta each ${EVERY_MS} ms, ${deltas} deltas`,
    "p50 and p99: from the model's yield to the client's parse. late: from the time that the pace asks for",
    "",
    table(rows),
    "",
    `CPU ÷ runtime alone ≤ 2: ${(served.cpuMs / alone.cpuMs).toFixed(2)}`,
    `CPU ÷ bare Hono ≤ 2: ${(served.cpuMs / bare.cpuMs).toFixed(2)}`,
    `peak memory over the runtime alone ≤ 150 MB: ${(served.peakMegabytes - alone.peakMegabytes).toFixed(0)}`,
    `p99 of the loop's delay over the runtime alone ≤ 30 ms: ${(served.delayP99Ms - alone.delayP99Ms).toFixed(0)}`,
    `memory of a client that does not read ≤ 1 MB: ${perStalled.toFixed(2)}`,
    "",
  ].join("\n"),
);
