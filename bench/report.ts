/** The figures as text for people. */

import { growthOf, type Bar } from "./bars.ts";
import { CROWD, type Crowd } from "./crowd.ts";
import type { LongLog } from "./long-logs.ts";
import type { Planning } from "./planning.ts";
import { planningText } from "./planning-report.ts";
import type { Reopening } from "./reopening.ts";
import type { ContenderName, Round, Run } from "./rounds.ts";
import type { SlowStream } from "./slow-stream.ts";
import { spread, type Spread } from "./statistics.ts";
import { table } from "./table.ts";

export interface Report {
  readonly machine: string;
  readonly steps: number;
  readonly contentBytes: number;
  readonly rounds: readonly Round[];
  readonly reopening: { readonly closed: Reopening; readonly killed: Reopening };
  readonly crowd: Crowd;
  readonly slowStream: SlowStream;
  readonly longLogs: readonly LongLog[];
  readonly planning: Planning;
  readonly bars: readonly Bar[];
}

const contenders: readonly (readonly [ContenderName, string])[] = [
  ["bare", "bare streamText loop, nothing kept"],
  ["turnlog language-model-call os", "turnlog, durability os"],
  ["turnlog language-model-call sync", "turnlog, durability sync"],
  ["turnlog stream-text os", "turnlog on streamText, os"],
  ["turnlog stream-text sync", "turnlog on streamText, sync"],
  ["level os", "its rows by level alone, os"],
  ["level sync", "its rows by level alone, sync"],
];

function ranged({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} [${min.toFixed(digits)}–${max.toFixed(digits)}]`;
}

function known(runs: readonly Run[], of: (run: Run) => number | undefined): Spread | undefined {
  const values = runs.map(of).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : spread(values);
}

function costs({ rounds, contentBytes }: Report): string {
  const ofContent = (bytes: Spread | undefined): string =>
    bytes === undefined ? "" : (bytes.median / contentBytes).toFixed(2);
  return table([
    [
      "",
      "CPU ms/step",
      "wall ms/step",
      "last ÷ first tenth",
      "disk ÷ content",
      "written ÷ content",
    ],
    ...contenders.map(([name, label]) => {
      const runs = rounds.map((round) => round[name]);
      const growth = known(runs, growthOf);
      return [
        label,
        ranged(spread(runs.map((run) => run.cpuMs)), 2),
        ranged(spread(runs.map((run) => run.wallMs)), 2),
        growth === undefined ? "" : ranged(growth, 2),
        ofContent(known(runs, (run) => run.diskBytes)),
        ofContent(known(runs, (run) => run.writtenBytes)),
      ];
    }),
  ]);
}

function reopenings({ reopening }: Report): string {
  const row = (label: string, one: Reopening): readonly string[] => [
    label,
    ranged(one.openMs, 1),
    ranged(one.readyMs, 1),
    ranged(one.readyCpuMs, 1),
    ranged(one.calledMs, 1),
    `${one.events}`,
  ];
  return table([
    [
      "reopened in a new process",
      "store open ms",
      "ready ms",
      "CPU ms",
      "model called ms",
      "events",
    ],
    row("after the turn", reopening.closed),
    row("killed in the turn", reopening.killed),
  ]);
}

function crowds({ crowd }: Report): string {
  const { steps, cancels, steers, cpuMsPerStep, wallMs, delayMs } = crowd;
  return [
    `${CROWD.sessions} sessions at once on one runtime and one store: ${steps} steps with tools, ${steers} steered, ${cancels} cancelled, in ${(wallMs / 1000).toFixed(1)} s;`,
    `${cpuMsPerStep.toFixed(2)} ms CPU a step, the process at most ${crowd.peakMegabytes.toFixed(0)} MB, ${crowd.keptMegabytes.toFixed(1)} MB kept when all are over;`,
    `the event loop was late by ${delayMs.median.toFixed(1)} ms in the median, ${delayMs.p99.toFixed(1)} ms in one of a hundred.`,
  ].join("\n");
}

function slowStreams({ slowStream }: Report): string {
  const { deltas, contentBytes, diskBytes, cpuUs, looseCpuUs, looseDiskBytes } = slowStream;
  const ofContent = (bytes: number | undefined): string =>
    bytes === undefined ? "?" : (bytes / contentBytes).toFixed(2);
  return [
    `${deltas} deltas of 1 to 20 bytes, appended one by one: ${ofContent(diskBytes)} × their text on disk, ${ofContent(slowStream.writtenBytes)} × written, ${cpuUs.toFixed(1)} µs CPU each;`,
    `in blocks of their own, so that rows stay alone: ${ofContent(looseDiskBytes)} ×, ${looseCpuUs.toFixed(1)} µs.`,
  ].join("\n");
}

function longOnes({ longLogs }: Report): string {
  return table([
    [
      "events in the log",
      "at(900) ms",
      "at(last) ms",
      "reopened, ready ms",
      "MB/s: rows by level alone",
      "read",
      "export",
      "import",
    ],
    ...longLogs.map(({ events, earlyMs, lastMs, readyMs, mbPerSecond }) => [
      `${events}`,
      ranged(earlyMs, 1),
      ranged(lastMs, 1),
      ranged(readyMs, 1),
      ...[mbPerSecond.level, mbPerSecond.read, mbPerSecond.export, mbPerSecond.import].map((rate) =>
        rate.toFixed(1),
      ),
    ]),
  ]);
}

function bars({ bars }: Report): string {
  return table(
    bars.map(({ what, measured, limit, holds }) => [
      `${holds ? "holds " : "MISSED"}  ${what}`,
      ranged(measured, 2),
      `≤ ${limit}`,
    ]),
  );
}

export function reportText(report: Report): string {
  const { machine, steps, contentBytes, rounds } = report;
  return [
    `A session of ${steps} steps, 200 deltas and a 4 KB tool result each: ${(contentBytes / 1e6).toFixed(2)} MB of content.`,
    `${machine}; medians of ${rounds.length} rounds [least–most].`,
    "",
    costs(report),
    "",
    reopenings(report),
    "",
    crowds(report),
    "",
    slowStreams(report),
    "",
    longOnes(report),
    "",
    planningText(report.planning),
    "",
    bars(report),
    "",
  ].join("\n");
}
