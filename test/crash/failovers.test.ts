/**
 * Real processes, killed while another model takes over: at its record, at the retry after it, and where its attempt
 * begins. No text comes twice and no work is done twice, and the turn continues as the policy says. 300 kills with
 * `TURNLOG_LONG=5`.
 */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { lot, times } from "../support/runs.ts";
import { placesIn, type CrashPlan } from "./crash-plan.ts";
import { crashProgram, crashRun } from "./crash-run.ts";
import { crashVerdict } from "./crash-verdict.ts";

let folder: string;
let child: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-failovers-"));
  child = await crashProgram(join(folder, "program"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const places = ["written", "shown", "append"] as const;
/** Words of the events: the move, the retry after it, and the attempt of the other model. */
const events = ['"step.failed-over"', '"delayMs":0', '"model":{"provider":"other"'] as const;
const policies = ["continue", "stop"] as const;

const kills = Array.from({ length: times(3, 60) }, (_, index) => ({
  index,
  at: places[index % 3] ?? "shown",
  of: events[Math.floor(index / 3 + index) % 3] ?? "",
  recovery: policies[index % 2] ?? "stop",
}));

it.each(kills)("kill $index: $at $of, by policy $recovery", async ({ index, at, of, recovery }) => {
  const home = join(folder, String(index));
  await mkdir(home);
  const plan: CrashPlan = {
    ...placesIn(home),
    session: "talk",
    process: `failover-${lot}-${index}`,
    // More than it lives for.
    turns: 120,
    from: 1,
    durability: index % 4 === 0 ? "sync" : "os",
    recovery,
    stepSource: index % 2 === 0 ? "language-model-call" : "stream-text",
  };
  const run = await crashRun(child, plan, { by: "itself", die: { at, of, after: 1 } });
  expect(run.killed).toBe(true);
  const { problems } = await crashVerdict(plan, run.told, join(home, "copy"));
  expect(problems).toEqual([]);
  await rm(home, { recursive: true });
});
