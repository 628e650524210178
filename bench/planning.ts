/** What planning and estimating cost in sessions of three lengths, in a process of their own. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";

export const LENGTHS: readonly number[] = [10, 1000, 100_000];

/** Microseconds of one call, one for each length. */
export interface PlanningRow {
  readonly what: string;
  readonly micros: readonly number[];
}

/** Microseconds that a kilobyte of a text takes, by estimator. */
export interface EstimatorRow {
  readonly text: string;
  readonly micros: Readonly<Record<string, number>>;
}

export interface Planning {
  readonly rows: readonly PlanningRow[];
  readonly estimators: readonly EstimatorRow[];
}

const measuredSchema: z.ZodType<Planning> = z.object({
  rows: z.array(z.object({ what: z.string(), micros: z.array(z.number()) })),
  estimators: z.array(z.object({ text: z.string(), micros: z.record(z.string(), z.number()) })),
});

export async function measurePlanning(): Promise<Planning> {
  const program = fileURLToPath(new URL("./planning-child.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  return measuredSchema.parse(JSON.parse(stdout));
}
