/**
 * Real processes, killed where a step is prepared and not begun, where a client or a sub-agent runs a tool, and
 * where an output is read: the laws hold, and the turn continues as the policy says. A long run takes both
 * policies at each moment.
 */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sampled } from "../support/runs.ts";
import { placesIn, type CrashPlan, type Death } from "./crash-plan.ts";
import { crashProgram, crashRun } from "./crash-run.ts";
import { crashVerdict } from "./crash-verdict.ts";

let folder: string;
let child: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "turnlog-between-events-"));
  child = await crashProgram(join(folder, "program"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** `leaves`: the text that the last event of the log has. */
const moments: readonly { readonly die: Death; readonly leaves: string }[] = [
  { die: { at: "written", of: '"step.prepared"', after: 1 }, leaves: '"step.prepared"' },
  { die: { at: "written", of: '"step.prepared"', after: 2 }, leaves: '"step.prepared"' },
  { die: { at: "shown", of: '"tool.output-requested"', after: 1 }, leaves: "" },
  { die: { at: "written", of: '"tool.output-requested"', after: 1 }, leaves: "output-requested" },
  { die: { at: "append", of: '"by":"client"', after: 1 }, leaves: "" },
  { die: { at: "written", of: '"by":"client"', after: 1 }, leaves: '"by":"client"' },
  { die: { at: "written", of: '"child":', after: 1 }, leaves: '"child":' },
  // The session of a sub-agent is there, and has no task.
  { die: { at: "written", of: '"parent":', after: 1 }, leaves: "" },
  { die: { at: "parse", after: 1 }, leaves: "" },
  { die: { at: "written", of: '"turn.ended"', after: 1 }, leaves: '"turn.ended"' },
];
const policies = ["stop", "continue"] as const;
const kills = moments.flatMap((moment, index) =>
  sampled(policies, 2, index).map((recovery) => ({
    ...moment,
    recovery,
    index,
  })),
);

it.each(kills)("killed at $die.at $die.of $die.after, by policy $recovery", async (kill) => {
  const { die, leaves, recovery, index } = kill;
  const home = join(folder, `${index}-${recovery}`);
  await mkdir(home);
  const plan: CrashPlan = {
    ...placesIn(home),
    session: "talk",
    process: `between-${index}`,
    // More than it lives for: each turn calls several tools, and one in seven is the client's.
    turns: 40,
    from: 1,
    durability: "sync",
    recovery,
    stepSource: index % 2 === 0 ? "language-model-call" : "stream-text",
  };
  const run = await crashRun(child, plan, { by: "itself", die });
  expect(run.killed).toBe(true);
  const { problems, last } = await crashVerdict(plan, run.told, join(home, "copy"));
  expect(problems).toEqual([]);
  expect(last).toContain(leaves);
});
