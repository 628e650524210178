/**
 * Lets all contenders do the same work, round after round, each time in a fresh process and another order; then
 * opens what they left, and kills them. One that fails is noted and takes no further part in that.
 */

import { cp, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { bytesIn, inFolder } from "../folder.ts";
import { shuffled } from "../numbers.ts";
import { onDisk } from "../reopening.ts";
import { killedIn, measured, type Job } from "./contender-process.ts";
import type { Contender } from "./contenders.ts";
import { versionsOf } from "./installing.ts";
import { KILLED_IN } from "./killing.ts";
import { keptSchema, openingSchema, sessionSchema, type Result } from "./measured.ts";
import type { Pace } from "./script.ts";

const PACES: readonly Pace[] = ["burst", "steady", "silent"];
/** Kills differ little from one to the next. */
const KILLS = 3;

export interface ComparingOptions {
  readonly contenders: readonly Contender[];
  /** Steps of the sessions, the most last. */
  readonly sizes: readonly number[];
  readonly runs: number;
  readonly onProgress: (text: string) => void;
}

export async function compare(options: ComparingOptions): Promise<readonly Result[]> {
  const results = options.contenders.map(emptyResult);
  await inFolder(async (dir) => {
    for (let run = 1; run <= options.runs; run++) {
      for (const steps of options.sizes) {
        options.onProgress(`round ${run} of ${options.runs}: sessions of ${steps} steps`);
        for (const result of shuffled(results, Date.now()))
          await runOne(result, join(dir, result.id), steps);
      }
    }
    const steps = options.sizes.at(-1) ?? 0;
    for (let run = 1; run <= options.runs; run++) {
      options.onProgress(`round ${run} of ${options.runs}: reopening`);
      for (const result of shuffled(results, Date.now()))
        await reopenOne(result, join(dir, result.id), steps);
    }
    for (let run = 1; run <= Math.min(KILLS, options.runs); run++) {
      options.onProgress(`round ${run} of ${Math.min(KILLS, options.runs)}: kills`);
      for (const result of shuffled(results, Date.now()))
        await killOne(result, join(dir, `killed-${result.id}`));
    }
  });
  return results;
}

function emptyResult(contender: Contender): Result {
  const { id, label, role } = contender;
  return {
    id,
    label,
    role,
    versions: versionsOf(contender),
    failures: [],
    sessions: {},
    ready: [],
    called: [],
    kept: { burst: [], steady: [], silent: [] },
  };
}

/** The store of the last session stays at `dir`. */
async function runOne(result: Result, dir: string, steps: number): Promise<void> {
  await attempt(result, `a session of ${steps} steps`, async () => {
    await empty(dir);
    const session = await measured(jobOf(result, "run", dir, steps), sessionSchema);
    (result.sessions[steps] ??= []).push({ ...session, diskBytes: await bytesIn(dir) });
  });
}

/** Copies are opened, as opening changes them. */
async function reopenOne(result: Result, dir: string, steps: number): Promise<void> {
  if (result.role === "floor") return;
  for (const job of ["ready", "called"] as const) {
    await attempt(result, `reopening (${job})`, async () => {
      const copy = `${dir}-copy`;
      await empty(copy);
      await cp(dir, copy, { recursive: true });
      await onDisk(copy);
      result[job].push(await measured(jobOf(result, job, copy, steps), openingSchema));
      await rm(copy, { recursive: true });
    });
  }
}

async function killOne(result: Result, dir: string): Promise<void> {
  if (result.role === "floor") return;
  for (const pace of PACES) {
    await attempt(result, `a kill (${pace})`, async () => {
      await empty(dir);
      await killedIn({ ...jobOf(result, "killed", dir, KILLED_IN.steps), pace });
      const kept = await measured(jobOf(result, "kept", dir, KILLED_IN.steps), keptSchema);
      result.kept[pace].push(kept);
    });
  }
}

function jobOf({ id }: Result, job: Job["job"], dir: string, steps: number): Job {
  return { contender: id, job, dir, steps };
}

async function empty(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir);
}

/** What failed once is not tried again. */
async function attempt(result: Result, what: string, work: () => Promise<void>): Promise<void> {
  if (result.failures.some((failure) => failure.startsWith(what))) return;
  try {
    await work();
  } catch (error) {
    result.failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
