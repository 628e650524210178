/** What sessions take of a process's memory: known to a runtime, live, and in the middle of a step. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import { inFolder } from "../folder.ts";

/** How many of each. */
const COUNTS = [10_000, 1000, 500] as const;

interface Taken {
  /** On the heap and beside it, when all that can be let go of is gone. */
  readonly heapBytes: number;
  readonly residentBytes: number;
}

export interface SessionMemory {
  readonly known: number;
  readonly idle: number;
  readonly active: number;
  readonly sleeping: Taken;
  readonly waiting: Taken;
  readonly speaking: Taken;
}

const takenSchema: z.ZodType<Taken> = z.object({
  heapBytes: z.number(),
  residentBytes: z.number(),
});
const memorySchema: z.ZodType<SessionMemory> = z.object({
  known: z.int(),
  idle: z.int(),
  active: z.int(),
  sleeping: takenSchema,
  waiting: takenSchema,
  speaking: takenSchema,
});

export async function measureSessions(): Promise<SessionMemory> {
  const program = fileURLToPath(new URL("./sessions-child.ts", import.meta.url));
  return await inFolder(async (dir) => {
    const told = ["--expose-gc", program, join(dir, "store"), ...COUNTS.map(String)];
    const { stdout } = await promisify(execFile)(process.execPath, told);
    return memorySchema.parse(JSON.parse(stdout));
  });
}
