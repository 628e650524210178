/** What the parts cost, as text for people, with the bars that were promised of them. */

import type { Spread } from "../statistics.ts";
import { table } from "../table.ts";
import type { Appending } from "./appending.ts";
import type { Billing } from "./billing.ts";
import type { Folding } from "./folding.ts";
import type { Listing } from "./listing.ts";
import type { Rewinding } from "./rewinding.ts";
import type { SessionMemory } from "./sessions.ts";
import type { SettingCost } from "./settings.ts";

export interface MicroReport {
  readonly machine: string;
  readonly appending: readonly Appending[];
  readonly folding: readonly Folding[];
  readonly rewinding: Rewinding;
  readonly listing: readonly Listing[];
  readonly billing: Billing;
  readonly settings: readonly SettingCost[];
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
    rewinds(report.rewinding),
    "",
    lists(report.listing),
    "",
    billed(report.billing),
    "",
    settings(report.settings),
    "",
    memory(report.memory),
    "",
    bars(report),
    "",
  ].join("\n");
}

function lists(rows: readonly Listing[]): string {
  return table([
    ["a page of 50 sessions, ms of CPU", "newest first", "of one tenant", "first, with a filter"],
    ...rows.map(({ sessions, newest, ofTenant, firstMs }) => [
      `of ${sessions.toLocaleString("en")}`,
      ranged(newest, 2),
      ranged(ofTenant, 2),
      firstMs.toFixed(0),
    ]),
  ]);
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

function rewinds({ byOneTurn, byHalf, nextPrompt, reopening, branches }: Rewinding): string {
  return [
    table([
      ["a session of 1,000 turns and 10,000 steps, CPU ms", ""],
      ["a rewind by one turn", ranged(byOneTurn, 2)],
      ["a rewind by 500 turns", ranged(byHalf, 2)],
      ["its next prompt, in a new process", ranged(nextPrompt, 2)],
      ["its state from a snapshot", ranged(reopening, 2)],
    ]),
    "",
    table([
      ["a rewind by one turn, CPU ms", "branches from one turn", "each in the one before"],
      ...branches.map(({ count, beside, within }) => [
        `${count.toLocaleString("en")} branches`,
        ranged(beside, 2),
        ranged(within, 2),
      ]),
    ]),
  ].join("\n");
}

function billed({ fold, question }: Billing): string {
  return table([
    ["sums of spending, CPU ÷ of the steps", ""],
    ["the fold", fold.toFixed(4)],
    ["a question after them, which reads the log", question.toFixed(3)],
  ]);
}

function settings(rows: readonly SettingCost[]): string {
  return table([
    ["CPU of a turn ÷ of one without the setting", ""],
    ...rows.map(({ setting, ratio }) => [setting, ranged(ratio, 2)]),
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
    row("known, passivated", known, sleeping),
    row("live, idle", idle, waiting),
    row("in the middle of a step, 200 deltas in", active, speaking),
  ]);
}

function bars(report: MicroReport): string {
  const { appending, folding, rewinding, listing, billing } = report;
  const { sleeping } = report.memory;
  const [few, many] = listing;
  const toFew = (many?.newest.median ?? 9) / (few?.newest.median ?? 1);
  const toPrompt = rewinding.byOneTurn.median / rewinding.nextPrompt.median;
  const toReopening = rewinding.byHalf.median / rewinding.reopening.median;
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
    row(
      "10,000 steps: a rewind by one turn ÷ its next prompt",
      toPrompt,
      "at most 3",
      toPrompt <= 3,
    ),
    row("10,000 steps: one by half ÷ its reopening", toReopening, "at most 1", toReopening <= 1),
    row("a page of 10,000 sessions ÷ one of 100", toFew, "at most 1.5", toFew <= 1.5),
    row("summing what a step spent ÷ the step", billing.fold, "at most 0.02", billing.fold <= 0.02),
    row("10,000 sessions known, MB", knownMegabytes, "at most 50", knownMegabytes <= 50),
  ]);
}
