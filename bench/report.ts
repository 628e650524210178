/** The figures as text for people. */

import type { Bar } from "./bars.ts";
import type { Crowd } from "./crowd.ts";
import type { LongLog } from "./long-logs.ts";
import type { PairedRound } from "./pairs.ts";
import type { Planning } from "./planning.ts";
import { planningText } from "./planning-report.ts";
import type { Reopening } from "./reopening.ts";
import type { Difference } from "./since.ts";
import type { SlowStream } from "./slow-stream.ts";
import { interval, median, ranged, type Spread } from "./statistics.ts";
import { table } from "./table.ts";

/** What is measured besides the main ratios. */
export interface Rest {
  readonly killed: Reopening;
  readonly crowd: Crowd;
  readonly slowStream: SlowStream;
  readonly longLogs: readonly LongLog[];
  readonly planning: Planning;
}

export interface Report {
  readonly machine: string;
  readonly at: string;
  readonly commit: string;
  readonly steps: number;
  readonly contentBytes: number;
  readonly rounds: readonly PairedRound[];
  readonly bars: readonly Bar[];
  readonly rest?: Rest;
  readonly since?: { readonly commit: string; readonly differences: readonly Difference[] };
  /** Files that were written. */
  readonly kept?: readonly string[];
}

function cells(rounds: readonly PairedRound[], figure: string, digits: number): string {
  const values = rounds.flatMap((round) => round[figure] ?? []);
  return values.length === 0 ? "" : ranged(interval(values), digits);
}

function costs({ rounds, contentBytes }: Report): string {
  const ofContent = (figure: string): string => {
    const values = rounds.flatMap((round) => round[figure] ?? []);
    return values.length === 0 ? "" : (median(values) / contentBytes).toFixed(2);
  };
  const row = (label: string, job: string): readonly string[] => [
    label,
    cells(rounds, `${job} cpuMs`, 2),
    cells(rounds, `${job} growth`, 2),
    ofContent(`${job} diskBytes`),
    ofContent(`${job} writtenBytes`),
    cells(rounds, `${job} peakMegabytes`, 0),
  ];
  return table([
    [
      "a session in a new process",
      "CPU ms/step",
      "last ÷ first ten",
      "disk ÷ content",
      "written ÷ content",
      "peak MB",
    ],
    row("the stream read, nothing else", "stream"),
    row("the same, and turnlog's rows by level", "rows"),
    row("bare streamText loop", "loop"),
    row("turnlog", "turnlog light"),
    row("turnlog on streamText", "turnlog heavy"),
  ]);
}

function openings({ rounds }: Report): string {
  const row = (label: string, name: string): readonly string[] => [
    label,
    ...["called loadMs", "ready ms", "ready cpuMs", "called ms", "called cpuMs"].map((figure) =>
      cells(rounds, `${name} ${figure}`, 0),
    ),
  ];
  return table([
    [
      "opened again in a new process",
      "modules loaded ms",
      "then: all in memory ms",
      "CPU ms",
      "model called ms",
      "CPU ms",
    ],
    row("a JSON file", "json"),
    row("turnlog", "turnlog"),
  ]);
}

function sinceText({ since }: Report): string {
  if (since === undefined) return "";
  return table([
    [`since ${since.commit}`, "before", "now", "now ÷ before"],
    ...since.differences.map(({ what, before, now, ratio }) => [
      what,
      before.toFixed(2),
      now.toFixed(2),
      ranged(ratio, 3),
    ]),
  ]);
}

function killedText({ killed }: Rest): string {
  const { events, openMs, readyMs, calledMs } = killed;
  const [open, ready, called] = [openMs, readyMs, calledMs].map(between);
  return `Killed in its turn, after ${events} events, and opened from the sources in a new process: open after ${open} ms, all in memory after ${ready}, model called after ${called}.`;
}

function between({ median: middle, min, max }: Spread): string {
  return `${middle.toFixed(1)} [${min.toFixed(1)}–${max.toFixed(1)}]`;
}

function crowdText({ crowd }: Rest): string {
  const { steps, cancels, steers, cpuMsPerStep, wallMs, delayMs } = crowd;
  return [
    `${crowd.sessions} sessions at once on one runtime and one store: ${steps} steps with tools, ${steers} steered, ${cancels} cancelled, in ${(wallMs / 1000).toFixed(1)} s;`,
    `${cpuMsPerStep.toFixed(2)} ms CPU a step, the process at most ${crowd.peakMegabytes.toFixed(0)} MB, ${crowd.keptMegabytes.toFixed(1)} MB kept when all are over;`,
    `the event loop was late by ${delayMs.median.toFixed(1)} ms in the median, ${delayMs.p99.toFixed(1)} ms in one of a hundred.`,
  ].join("\n");
}

function slowStreamText({ slowStream }: Rest): string {
  const { deltas, contentBytes, diskBytes, cpuUs, looseCpuUs, looseDiskBytes } = slowStream;
  const ofContent = (bytes: number | undefined): string =>
    bytes === undefined ? "?" : (bytes / contentBytes).toFixed(2);
  return [
    `${deltas} deltas of 1 to 20 bytes, appended one by one: ${ofContent(diskBytes)} × their text on disk, ${ofContent(slowStream.writtenBytes)} × written, ${cpuUs.toFixed(1)} µs CPU each;`,
    `in blocks of their own, so that rows stay alone: ${ofContent(looseDiskBytes)} ×, ${looseCpuUs.toFixed(1)} µs.`,
  ].join("\n");
}

function longLogText({ longLogs }: Rest): string {
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
      between(earlyMs),
      between(lastMs),
      between(readyMs),
      ...[mbPerSecond.level, mbPerSecond.read, mbPerSecond.export, mbPerSecond.import].map((rate) =>
        rate.toFixed(1),
      ),
    ]),
  ]);
}

function barText({ bars }: Report): string {
  return table(
    bars.map(({ what, measured, bound, limit, holds }) => [
      `${holds ? "holds " : "MISSED"}  ${what}`,
      ranged(measured, 2),
      `${bound} ${limit}`,
    ]),
  );
}

export function reportText(report: Report): string {
  const { machine, at, commit, steps, contentBytes, rounds, rest, kept = [] } = report;
  const texts = [
    `A session of ${steps} steps, 200 deltas and a 4 KB tool result each: ${(contentBytes / 1e6).toFixed(2)} MB of content.`,
    `${machine}; ${at}, at ${commit}; medians of ${rounds.length} rounds in fresh processes [95 % interval].`,
    "",
    costs(report),
    "",
    openings(report),
    "",
    ...(rest === undefined
      ? []
      : [
          killedText(rest),
          "",
          crowdText(rest),
          "",
          slowStreamText(rest),
          "",
          longLogText(rest),
          "",
          planningText(rest.planning),
          "",
        ]),
    ...(report.since === undefined ? [] : [sinceText(report), ""]),
    barText(report),
    "",
    ...kept.map((file) => `Written: ${file}\n`),
  ];
  return texts.join("\n");
}
