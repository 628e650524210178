/**
 * Runs all contenders in turn, round after round, in this one process. Each warms up directly before
 * it is measured, since running another one has made the compiler think again.
 */

import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { runBareLoop } from "./bare-loop.ts";
import { bytesIn, inFolder } from "./folder.ts";
import type { Cost } from "./meter.ts";
import { readRows, writeRows, type Row } from "./raw-level.ts";
import { runTurnlog, type TurnlogVariant } from "./turnlog-session.ts";
import { createWorkload, type Workload } from "./workload.ts";

export type ContenderName =
  | "bare"
  | `turnlog ${TurnlogVariant["stepSource"]} ${TurnlogVariant["durability"]}`
  | `level ${TurnlogVariant["durability"]}`;

/** What one contender did in one round; a step's cost, and bytes of the whole session. */
export interface Run {
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Of a typical step among the first tenth, and among the last. */
  readonly firstCpuMs?: number;
  readonly lastCpuMs?: number;
  readonly writtenBytes?: number | undefined;
  readonly diskBytes?: number;
}

/** One run of each contender a round. */
export type Round = Readonly<Record<ContenderName, Run>>;

const WARM_UP_STEPS = 25;

async function bare(workload: Workload, warmUp: Workload): Promise<Run> {
  await runBareLoop(warmUp);
  return await runBareLoop(workload);
}

async function turnlog(
  workload: Workload,
  warmUp: Workload,
  variant: TurnlogVariant,
  keepAt?: string,
): Promise<Run> {
  await inFolder((dir) => runTurnlog(warmUp, variant, dir));
  return await inFolder(async (dir) => {
    const cost: Cost = await runTurnlog(workload, variant, dir);
    if (keepAt !== undefined) await cp(dir, keepAt, { recursive: true, force: true });
    return { ...cost, diskBytes: await bytesIn(dir) };
  });
}

async function level(rows: readonly Row[], steps: number, sync: boolean): Promise<Run> {
  return await inFolder(async (dir) => {
    const store = join(dir, "raw");
    await mkdir(store);
    const { cpuMs, wallMs, writtenBytes } = await writeRows(rows, { dir: store, sync });
    const diskBytes = await bytesIn(store);
    return { cpuMs: cpuMs / steps, wallMs: wallMs / steps, writtenBytes, diskBytes };
  });
}

/** Leaves the store of the first turnlog session at `keepAt`. */
export async function runRounds(
  workload: Workload,
  { count, keepAt, onRound }: { count: number; keepAt: string; onRound: (round: number) => void },
): Promise<readonly Round[]> {
  const warmUp = createWorkload(WARM_UP_STEPS);
  const light = (durability: "os" | "sync") =>
    ({ stepSource: "language-model-call", durability }) as const;
  const heavy = (durability: "os" | "sync") => ({ stepSource: "stream-text", durability }) as const;
  // One round that is not counted: it loads and compiles what all of them use.
  await turnlog(workload, warmUp, light("os"), keepAt);
  const rows = await inFolder(async (dir) => {
    await cp(keepAt, dir, { recursive: true });
    return await readRows(dir);
  });
  await bare(workload, warmUp);
  const rounds: Round[] = [];
  for (let round = 1; round <= count; round++) {
    onRound(round);
    rounds.push({
      bare: await bare(workload, warmUp),
      "turnlog language-model-call os": await turnlog(workload, warmUp, light("os")),
      "turnlog language-model-call sync": await turnlog(workload, warmUp, light("sync")),
      "turnlog stream-text os": await turnlog(workload, warmUp, heavy("os")),
      "turnlog stream-text sync": await turnlog(workload, warmUp, heavy("sync")),
      "level os": await level(rows, workload.steps, false),
      "level sync": await level(rows, workload.steps, true),
    });
  }
  return rounds;
}
