/**
 * A process of its own that does one thing with one contender and prints what it measured:
 * `node bench/comparison/contender-child.ts <contender> <job> <dir> <steps> [pace]`.
 */

import { writeSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { mark, writtenBytes, type Mark } from "../meter.ts";
import { median } from "../statistics.ts";
import { createWorkload } from "../workload.ts";
import { contenderOf } from "./contenders.ts";
import { KILLED_IN, killer } from "./killing.ts";
import { assertWhole, Script, type Pace } from "./script.ts";

const [id = "", job = "", dir = "", stepCount = "", pace = ""] = process.argv.slice(2);
const { load, variant } = contenderOf(id);
const WARM_UP_STEPS = 100;
const workload = createWorkload(Number(stepCount));

const loading = mark();
const contender = await load();
const loadMs = mark().wallMs - loading.wallMs;

/** At once: the caller of the model goes on. */
function tell(measured: object): never {
  writeSync(1, `${JSON.stringify(measured)}\n`);
  process.exit(0);
}

/**
 * A session from its request to its close, after one that loads what it uses and that the compiler
 * learns from: a step among the first hundred of a process costs twice as much.
 */
async function run(): Promise<void> {
  const warmUpDir = `${dir}-warm-up`;
  await session(warmUpDir, new Script(createWorkload(WARM_UP_STEPS)));
  await rm(warmUpDir, { recursive: true });
  const writtenBefore = writtenBytes();
  const script = new Script(workload);
  const { start, stepsEnd, end } = await session(dir, script);
  const writtenAfter = writtenBytes();
  const marks = [...script.finished(), stepsEnd];
  const { steps } = workload;
  const stepsOf = (of: (mark: Mark) => number): readonly number[] =>
    marks.slice(1).map((mark, step) => of(mark) - of(marks[step] ?? start));
  const cpu = stepsOf((mark) => mark.cpuMs);
  const wall = stepsOf((mark) => mark.wallMs);
  tell({
    cpuMs: (end.cpuMs - start.cpuMs) / steps,
    wallMs: (end.wallMs - start.wallMs) / steps,
    stepCpuMs: { first: mean(cpu.slice(0, 10)), last: mean(cpu.slice(-10)), median: median(cpu) },
    stepWallMs: {
      first: mean(wall.slice(0, 10)),
      last: mean(wall.slice(-10)),
      median: median(wall),
    },
    ...(writtenBefore === undefined || writtenAfter === undefined
      ? {}
      : { writtenBytes: writtenAfter - writtenBefore }),
    peakMegabytes: process.resourceUsage().maxRSS / 1024,
  });
}

async function session(
  folder: string,
  script: Script,
): Promise<{ readonly start: Mark; readonly stepsEnd: Mark; readonly end: Mark }> {
  await mkdir(folder, { recursive: true });
  const opened = await contender.open({ dir: folder, script, variant });
  const start = mark();
  await opened.send(script.workload.request);
  const stepsEnd = mark();
  await opened.close();
  return { start, stepsEnd, end: mark() };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Until all is in memory that the next call will be told. */
async function ready(): Promise<void> {
  const start = mark();
  const opened = await contender.open({ dir, script: new Script(createWorkload(1)), variant });
  const kept = await opened.kept();
  const end = mark();
  assertWhole(kept, workload, workload.steps - 1);
  tell({ loadMs, ms: end.wallMs - start.wallMs, cpuMs: end.cpuMs - start.cpuMs });
}

/** Until the model is called with all of it. */
async function called(): Promise<void> {
  const start = mark();
  const onCall = (prompt: unknown): void => {
    const end = mark();
    assertWhole(prompt, workload, workload.steps - 1);
    tell({ loadMs, ms: end.wallMs - start.wallMs, cpuMs: end.cpuMs - start.cpuMs });
  };
  const script = new Script(createWorkload(1), { onCall });
  const opened = await contender.open({ dir, script, variant });
  await opened.send("Go on.");
  throw new Error("The model was not called.");
}

/** Dies in the middle of a step. */
async function killed(): Promise<void> {
  const script = new Script(workload, { pace: killer(parsePace(pace)) });
  await session(dir, script);
  throw new Error("The session to be killed came to its end.");
}

function parsePace(name: string): Pace {
  if (name === "burst" || name === "steady" || name === "silent") return name;
  throw new Error(`There is no pace "${name}".`);
}

/** How many of the deltas that had been streamed until the kill are there. */
async function kept(): Promise<void> {
  const opened = await contender.open({ dir, script: new Script(createWorkload(1)), variant });
  const told = JSON.stringify(await opened.kept());
  const { texts } = workload;
  const whole = texts.slice(0, KILLED_IN.step).map((deltas) => beginning(deltas, told));
  const last = beginning((texts[KILLED_IN.step] ?? []).slice(0, KILLED_IN.delta), told);
  tell({ before: whole.reduce((sum, count) => sum + count, 0), inStep: last });
}

/** Of how many deltas the text is there, from the first one on. */
function beginning(deltas: readonly string[], told: string): number {
  let count = 0;
  let text = "";
  for (const delta of deltas) {
    text += delta;
    // A space at its end may have been cut off.
    if (!told.includes(text.trimEnd())) break;
    count++;
  }
  return count;
}

const jobs: Readonly<Record<string, () => Promise<void>>> = { run, ready, called, killed, kept };
const work = jobs[job];
if (work === undefined) throw new Error(`There is no job "${job}".`);
await work();
