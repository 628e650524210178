/**
 * `npm run bench`: what turnlog's session costs beside a bare `streamText` loop and a JSON file, in fresh
 * processes, and then what crowds, long logs, slow streams and planning cost. `--quick` takes the first in a
 * minute; `--since <commit>` compares that commit's build with this one's instead. `--keep` puts the ratios
 * into `bench/history.json` and draws them. Figures go to stdout (`--json` for programs), progress to stderr.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { mainBars, mainRatios, restBars } from "./bars.ts";
import { builtAt, builtHere } from "./checkout.ts";
import { measureCrowd } from "./crowd.ts";
import { inFolder } from "./folder.ts";
import { keepFigures } from "./history.ts";
import { measureLongLogs } from "./long-logs.ts";
import { machineName } from "./machine.ts";
import { pairedRounds, type Stopping } from "./pairs.ts";
import { measurePlanning } from "./planning.ts";
import { leaveKilled, measureReopening } from "./reopening.ts";
import { reportText, type Report, type Rest } from "./report.ts";
import { floorJobs, turnlogJobs } from "./session-jobs.ts";
import { crowds, differences, sharpRatios, sizes } from "./since.ts";
import { measureSlowStream } from "./slow-stream.ts";
import { createWorkload } from "./workload.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    since: { type: "string" },
    /** Rounds, exactly. */
    rounds: { type: "string" },
    steps: { type: "string" },
    /** Sessions of the crowd. */
    crowd: { type: "string", default: "1000" },
  },
});

const { quick, since } = values;
if (values.keep && quick) throw new Error("--quick is too short for figures to keep.");

function countOf(name: "rounds" | "steps" | "crowd", text: string, least: number): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= least) return count;
  throw new Error(`--${name} takes a whole number from ${least} on, not "${text}".`);
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function stopping(): Stopping {
  if (values.rounds !== undefined) {
    const count = countOf("rounds", values.rounds, 1);
    return { least: count, most: count, within: 0 };
  }
  if (quick) return { least: 5, most: 20, forMs: 45_000, within: 0.1 };
  // Half of the three percent that are to be seen.
  if (since !== undefined) return { least: 15, most: 60, forMs: 40 * 60_000, within: 0.015 };
  return { least: 15, most: 45, forMs: 20 * 60_000, within: 0.05 };
}

const steps = countOf("steps", values.steps ?? (quick ? "100" : "200"), 10);
const sessions = countOf("crowd", values.crowd, 1);
const CROWDS = 3;

async function measureRest(dir: string): Promise<Rest> {
  progress("reopening after a kill");
  const killedStore = join(dir, "killed");
  await leaveKilled(killedStore, steps, Math.floor(steps * 0.95));
  const killed = await measureReopening(killedStore, steps, 9);
  progress("a crowd of sessions");
  const crowd = await measureCrowd(sessions);
  progress("a slow stream");
  const slowStream = await measureSlowStream();
  const longLogs = await measureLongLogs((events) => {
    progress(`a log of ${events} deltas`);
  });
  progress("planning");
  return { killed, crowd, slowStream, longLogs, planning: await measurePlanning() };
}

const report: Report = await inFolder(async (dir) => {
  const now = builtHere();
  const then = since === undefined ? undefined : await builtAt(since, join(dir, "older"));
  const jobs = [
    ...(await floorJobs(dir, steps)),
    ...(await turnlogJobs("turnlog", now, dir, steps)),
    ...(then === undefined ? [] : await turnlogJobs("then", then, dir, steps)),
  ];
  const ratios = then === undefined ? mainRatios : sharpRatios;
  const rounds = await pairedRounds(jobs, ratios, stopping(), progress);
  const rest = quick || then !== undefined ? undefined : await measureRest(dir);
  return {
    machine: machineName(),
    at: new Date().toISOString(),
    commit: now.commit,
    steps,
    contentBytes: createWorkload(steps).contentBytes,
    rounds,
    ...(rest === undefined ? {} : { rest }),
    bars: [...mainBars(rounds), ...(rest === undefined ? [] : restBars(rest.crowd, rest.longLogs))],
    ...(then === undefined
      ? {}
      : {
          since: {
            commit: then.commit,
            differences: [
              ...differences(rounds),
              ...(await crowds(now, then, { pairs: CROWDS, sessions }, progress)),
              await sizes(now, then),
            ],
          },
        }),
    ...(values.keep ? { kept: await keepFigures(rounds, { now, older: then }) } : {}),
  };
});

process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : reportText(report));
