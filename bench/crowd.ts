/** What a thousand sessions at once cost on one runtime, in a process of their own. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { ROOT } from "./checkout.ts";
import { inFolder } from "./folder.ts";

const STEPS = 20;

export interface Crowd {
  readonly sessions: number;
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

const measuredSchema: z.ZodType<Omit<Crowd, "sessions">> = z.object({
  steps: z.int(),
  cancels: z.int(),
  steers: z.int(),
  cpuMsPerStep: z.number(),
  wallMs: z.number(),
  peakMegabytes: z.number(),
  keptMegabytes: z.number(),
  delayMs: z.object({ median: z.number(), p99: z.number() }),
});

/** By the sources of a checkout, which has a program for it of its own. */
export async function measureCrowd(sessions: number, checkout: string = ROOT): Promise<Crowd> {
  const program = join(checkout, "bench/crowd-child.ts");
  return await inFolder(async (dir) => {
    const told = ["--expose-gc", program, join(dir, "store"), `${sessions}`, `${STEPS}`];
    const { stdout } = await promisify(execFile)(process.execPath, told);
    return { sessions, ...measuredSchema.parse(JSON.parse(stdout)) };
  });
}
