/** What was promised of the figures, and whether it holds. Ratios of one round, so that they travel. */

import type { Reopening } from "./reopening.ts";
import type { ContenderName, Round, Run } from "./rounds.ts";
import { spread, type Spread } from "./statistics.ts";

export interface Bar {
  readonly what: string;
  readonly measured: Spread;
  readonly limit: number;
  /** By the median. */
  readonly holds: boolean;
}

function bar(what: string, measured: Spread, limit: number): Bar {
  return { what, measured, limit, holds: measured.median <= limit };
}

/** CPU of a step of the last tenth ÷ one of the first. */
export function growthOf({ firstCpuMs, lastCpuMs }: Run): number | undefined {
  return firstCpuMs === undefined || lastCpuMs === undefined ? undefined : lastCpuMs / firstCpuMs;
}

/** The same, without what a step of the bare loop grows by: what the AI SDK does with each message. */
function ownGrowthOf({ bare, "turnlog language-model-call os": own }: Round): number {
  const { firstCpuMs = Number.NaN, lastCpuMs = Number.NaN } = own;
  const grownBare = (bare.lastCpuMs ?? Number.NaN) - (bare.firstCpuMs ?? Number.NaN);
  return (lastCpuMs - grownBare) / firstCpuMs;
}

export function checkBars(rounds: readonly Round[], reopened: Reopening): readonly Bar[] {
  const toBare = (name: ContenderName): Spread =>
    spread(rounds.map((round) => round[name].cpuMs / round.bare.cpuMs));
  const growth = spread(
    rounds.map((round) => growthOf(round["turnlog language-model-call os"]) ?? Number.NaN),
  );
  return [
    bar("CPU of turnlog ÷ bare loop", toBare("turnlog language-model-call os"), 0.5),
    bar("CPU of turnlog with stream-text ÷ bare loop", toBare("turnlog stream-text os"), 1.15),
    bar("CPU of a step of the last tenth ÷ one of the first", growth, 1.1),
    bar("the same without what the bare loop grows by", spread(rounds.map(ownGrowthOf)), 1.1),
    bar("milliseconds until the next prompt is there", reopened.readyMs, 50),
  ];
}
