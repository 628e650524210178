/**
 * What logs of a thousand to a million events cost to look into: any position, the next prompt, all
 * events, a file of them and back, with LevelDB's own rows beside it.
 */

import { join } from "node:path";
import { Level } from "level";
import {
  exportSession,
  importSession,
  openLog,
  viewSession,
  type EventLog,
} from "../src/public/index.ts";
import { inFolder } from "./folder.ts";
import { measureReopening } from "./reopening.ts";
import { spread, type Spread } from "./statistics.ts";
import { runTurnlog, SESSION } from "./turnlog-session.ts";
import { createWorkload } from "./workload.ts";

/** Steps and deltas of each. */
const SIZES = [
  [5, 200],
  [100, 1000],
  [500, 2000],
] as const;
/** A position that all of them have. */
const EARLY = 900;
const TIMES = 5;

export interface LongLog {
  readonly events: number;
  readonly contentBytes: number;
  /** Milliseconds until a position is there: an early one, and the last. */
  readonly earlyMs: Spread;
  readonly lastMs: Spread;
  /** Milliseconds until the next prompt is there, in a new process. */
  readonly readyMs: Spread;
  /** Millions of bytes of content a second. */
  readonly mbPerSecond: {
    readonly level: number;
    readonly read: number;
    readonly export: number;
    readonly import: number;
  };
}

export async function measureLongLogs(onSize: (events: number) => void): Promise<LongLog[]> {
  const measured: LongLog[] = [];
  for (const [steps, deltas] of SIZES) {
    onSize(steps * deltas);
    measured.push(await inFolder((dir) => measure(dir, steps, deltas)));
  }
  return measured;
}

async function measure(dir: string, steps: number, deltas: number): Promise<LongLog> {
  const store = join(dir, "store");
  const workload = createWorkload(steps, deltas);
  const { contentBytes } = workload;
  await runTurnlog(workload, { stepSource: "language-model-call", durability: "os" }, store);
  const { readyMs } = await measureReopening(store, steps, TIMES);
  const level = await rate(contentBytes, () => readRows(store));
  await using log = await openLog({ dir: store, durability: "os" });
  const events = await log.revision(SESSION);
  // As they come from a file: joining the pieces of a line is no part of an import.
  const lines = (await Array.fromAsync(exportSession(log, SESSION))).join("\n").split("\n");
  return {
    events,
    contentBytes,
    earlyMs: await times(() => viewSession(log, SESSION, EARLY)),
    lastMs: await times(() => viewSession(log, SESSION, events)),
    readyMs,
    mbPerSecond: {
      level,
      read: await rate(contentBytes, () => exhaust(log.read(SESSION))),
      export: await rate(contentBytes, () => exhaust(exportSession(log, SESSION))),
      import: await rate(contentBytes, () => bringIn(join(dir, "imported"), lines)),
    },
  };
}

async function readRows(store: string): Promise<void> {
  const database = new Level(join(store, "log"));
  await exhaust(database.iterator({ gte: "e/", lt: "e0" }));
  await database.close();
}

async function bringIn(dir: string, lines: readonly string[]): Promise<void> {
  await using log: EventLog = await openLog({ dir, durability: "os" });
  await importSession(log, lines);
}

async function exhaust(items: AsyncIterable<unknown>): Promise<void> {
  for await (const item of items) void item;
}

async function times(run: () => Promise<unknown>): Promise<Spread> {
  const taken: number[] = [];
  for (let time = 0; time < TIMES; time++) taken.push(await milliseconds(run));
  return spread(taken);
}

async function rate(bytes: number, run: () => Promise<unknown>): Promise<number> {
  return bytes / 1000 / (await milliseconds(run));
}

async function milliseconds(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}
