/** What the parts cost, as text for people, with the bars that were promised of them. */

import type { Spread } from "../statistics.ts";
import { table } from "../table.ts";
import type { Appending } from "./appending.ts";
import type { Folding } from "./folding.ts";
import type { SessionMemory } from "./sessions.ts";

export interface MicroReport {
  readonly machine: string;
  readonly appending: readonly Appending[];
  readonly folding: readonly Folding[];
  readonly memory: SessionMemory;
}

export function microText(report: MicroReport): string {
  return [
    `${report.machine}; medians [least–most].`,
    "",
    appends(report.appending),
    "",
    folds(report.folding),
    "",
    memory(report.memory),
    "",
    bars(report),
    "",
  ].join("\n");
}

function ranged({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} [${min.toFixed(digits)}–${max.toFixed(digits)}]`;
}

function appends(rows: readonly Appending[]): string {
  const rate = ({ median }: Spread): string => Math.round(median).toLocaleString("en");
  return table([
    [
      "events of 150 bytes a second",
      "log",
      "level, such batches",
      "log ÷ level",
      "level, one put each",
      "log ÷ puts",
    ],
    ...rows.map(({ durability, sessions, log, level, put, toLevel, toPut }) => [
      `${durability}, ${sessions.toLocaleString("en")} at once`,
      rate(log),
      rate(level),
      ranged(toLevel, 2),
      rate(put),
      ranged(toPut, 1),
    ]),
  ]);
}

function folds(rows: readonly Folding[]): string {
  return table([
    ["folding an event, µs", "a delta", "any other"],
    ...rows.map(({ what, delta, other }) => [what, ranged(delta, 2), ranged(other, 2)]),
  ]);
}

function memory({ known, idle, active, sleeping, waiting, speaking }: SessionMemory): string {
  const row = (
    what: string,
    count: number,
    { heapBytes, residentBytes }: SessionMemory["sleeping"],
  ) => [
    `${count.toLocaleString("en")} ${what}`,
    (heapBytes / 1e6).toFixed(1),
    (heapBytes / count / 1000).toFixed(1),
    (residentBytes / 1e6).toFixed(0),
  ];
  return table([
    ["sessions of one runtime", "MB of memory", "KB each", "MB the process grew by"],
    row("known, asleep", known, sleeping),
    row("awake, idle", idle, waiting),
    row("in the middle of a step, 200 deltas in", active, speaking),
  ]);
}

function bars({ appending, folding, memory: { sleeping } }: MicroReport): string {
  const of = (durability: Appending["durability"]): Appending | undefined =>
    appending.find((one) => one.durability === durability && one.sessions === 256);
  const fold = folding.at(-1);
  const row = (what: string, value: number | undefined, bound: string, holds: boolean) => [
    `${holds ? "holds " : "MISSED"}  ${what}`,
    value?.toFixed(2) ?? "",
    bound,
  ];
  const [os, sync] = [of("os")?.toLevel.median, of("sync")?.toLevel.median];
  const group = of("sync")?.toPut.median;
  const knownMegabytes = sleeping.heapBytes / 1e6;
  return table([
    row("256 sessions, os: log ÷ level", os, "at least 0.7", (os ?? 0) >= 0.7),
    row("256 sessions, sync: log ÷ level", sync, "at least 0.7", (sync ?? 0) >= 0.7),
    row("256 sessions, sync: log ÷ one put each", group, "at least 15", (group ?? 0) >= 15),
    row(
      "all folds of a delta, µs",
      fold?.delta.median,
      "at most 5",
      (fold?.delta.median ?? 9) <= 5,
    ),
    row("10,000 sessions known, MB", knownMegabytes, "at most 50", knownMegabytes <= 50),
  ]);
}
