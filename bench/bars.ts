/** What was promised of the figures, and whether it holds. */

import type { Crowd } from "./crowd.ts";
import type { LongLog } from "./long-logs.ts";
import { ratioOf, type PairedRound, type Ratio } from "./pairs.ts";
import { interval, type Interval } from "./statistics.ts";

export interface Bar {
  readonly what: string;
  readonly measured: Interval;
  readonly bound: "at most" | "at least";
  readonly limit: number;
  /** By the end of the interval that is farther from the limit's good side. */
  readonly holds: boolean;
}

export function bar(
  what: string,
  values: readonly number[],
  bound: Bar["bound"],
  limit: number,
): Bar {
  const measured = interval(values);
  const holds = bound === "at most" ? measured.high <= limit : measured.low >= limit;
  return { what, measured, bound, limit, holds };
}

/** The ratios that tell what turnlog costs, to what everybody has without it. */
export const mainRatios: readonly (Ratio & { readonly what: string; readonly limit: number })[] = [
  {
    what: "CPU of a step ÷ the bare loop's",
    above: "turnlog light cpuMs",
    below: "loop cpuMs",
    limit: 0.5,
  },
  {
    what: "CPU of a step on streamText ÷ the bare loop's",
    above: "turnlog heavy cpuMs",
    below: "loop cpuMs",
    limit: 1.12,
  },
  {
    what: "until the model is called ÷ the JSON file's",
    above: "turnlog called ms",
    below: "json called ms",
    limit: 1.5,
  },
  {
    what: "until all is in memory ÷ the JSON file's",
    above: "turnlog ready ms",
    below: "json ready ms",
    limit: 3.6,
  },
];

export function mainBars(rounds: readonly PairedRound[]): readonly Bar[] {
  return [
    ...mainRatios.map(({ what, limit, ...ratio }) =>
      bar(what, ratioOf(rounds, ratio), "at most", limit),
    ),
    bar(
      "CPU of the last ten steps ÷ of the first ten",
      rounds.flatMap((round) => round["turnlog light growth"] ?? []),
      "at most",
      1.1,
    ),
  ];
}

export function restBars(crowd: Crowd, longLogs: readonly LongLog[]): readonly Bar[] {
  const rates = longLogs.slice(-1).map(({ mbPerSecond }) => mbPerSecond.import);
  return [
    bar("MB that a crowd of 1,000 sessions keeps", [crowd.keptMegabytes], "at most", 40),
    bar("MB of content a second, import of a million events", rates, "at least", 5),
  ];
}
