/** What a thousand sessions at once cost on one runtime, in a process of their own. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import { inFolder } from "./folder.ts";

export const CROWD: { readonly sessions: number; readonly steps: number } = {
  sessions: 1000,
  steps: 20,
};

export interface Crowd {
  readonly steps: number;
  readonly cancels: number;
  readonly steers: number;
  readonly cpuMsPerStep: number;
  readonly wallMs: number;
  /** The largest that the process has been, all sessions live. */
  readonly peakMegabytes: number;
  /** What stays on the heap when all of them are over. */
  readonly keptMegabytes: number;
  readonly delayMs: { readonly median: number; readonly p99: number };
}

const measuredSchema: z.ZodType<Crowd> = z.object({
  steps: z.int(),
  cancels: z.int(),
  steers: z.int(),
  cpuMsPerStep: z.number(),
  wallMs: z.number(),
  peakMegabytes: z.number(),
  keptMegabytes: z.number(),
  delayMs: z.object({ median: z.number(), p99: z.number() }),
});

export async function measureCrowd(): Promise<Crowd> {
  const program = fileURLToPath(new URL("./crowd-child.ts", import.meta.url));
  return await inFolder(async (dir) => {
    const { sessions, steps } = CROWD;
    const told = ["--expose-gc", program, join(dir, "store"), `${sessions}`, `${steps}`];
    const { stdout } = await promisify(execFile)(process.execPath, told);
    return measuredSchema.parse(JSON.parse(stdout));
  });
}
