/**
 * Sessions with tools, approvals, steering, cancels and retries, run again and again from the start,
 * each time killed after one event more: right after it was shown, or between its being handed to
 * the log and its being written. The events are drawn by lot.
 */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededRandom } from "../support/random.ts";
import { lot, sampled, stepOf, times } from "../support/runs.ts";
import { placesIn, type CrashPlan, type Death } from "./crash-plan.ts";
import { crashProgram, crashRun } from "./crash-run.ts";
import { crashVerdict } from "./crash-verdict.ts";

/** Of 200 to 400 events each. */
const sessions = [
  { name: "stopping", recovery: "stop", stepSource: "language-model-call", turns: 2 },
  { name: "going on", recovery: "continue", stepSource: "language-model-call", turns: 5 },
  { name: "going on by streamText", recovery: "continue", stepSource: "stream-text", turns: 2 },
] as const;
const places = ["shown", "append"] as const;

let folder: string;
let child: string;
let kills = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-every-event-"));
  child = await crashProgram(join(folder, "program"));
});
afterAll(async () => {
  console.log(`killed ${kills} processes with SIGKILL, each after another event`);
  await rm(folder, { recursive: true, force: true });
});

/** Kills a session after an event; `killed` is false when it had fewer. */
async function kill(
  { name, recovery, stepSource, turns }: (typeof sessions)[number],
  die: Death,
): Promise<{ readonly killed: boolean; readonly problems: readonly string[] }> {
  const home = join(folder, `${name}-${die.at}-${die.after}`);
  await mkdir(home);
  const plan: CrashPlan = {
    ...placesIn(home),
    session: "talk",
    process: name,
    turns,
    from: 1,
    durability: "os",
    recovery,
    stepSource,
  };
  const run = await crashRun(child, plan, { by: "itself", die });
  const { problems, position } = await crashVerdict(plan, run.told, join(home, "copy"));
  const where = `${name}, killed at ${die.at} ${die.after}, position ${position}`;
  await rm(home, { recursive: true });
  return { killed: run.killed, problems: problems.map((problem) => `${where}: ${problem}`) };
}

/** One of some 150 events, by lot; more in a long run. */
function* moments(name: string): Generator<number> {
  const random = seededRandom(`${name} ${lot}`);
  for (let after = 1; ; after += 1 + random.below(stepOf(300))) yield after;
}

/** Each place with one of the sessions, in a long run with each. */
const drawn = sessions.map((session, index) => ({
  ...session,
  taken: sampled(places, 2, index),
}));

describe.each(drawn)("a session that recovers by $name", ({ taken, ...session }) => {
  it.each(taken)("keeps every law when it is killed after any of its events (%s)", async (at) => {
    const remaining = moments(`${session.name} ${at}`);
    // As many at once as there are cores: a process spends half of its life waiting for the disk.
    const found: string[] = [];
    let killed = 0;
    const worker = async (): Promise<void> => {
      for (const after of remaining) {
        const end = await kill(session, { at, after });
        found.push(...end.problems);
        if (!end.killed) return;
        killed += 1;
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() }, worker));
    kills += killed;
    expect(found).toEqual([]);
    expect(killed).toBeGreaterThan(times(1));
  });
});
