/**
 * `npm run bench`: the same agent session by a bare `streamText` loop and by turnlog, side by side.
 * Figures go to stdout (`--json` for programs), progress to stderr.
 */

import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkBars } from "./bars.ts";
import { measureCrowd } from "./crowd.ts";
import { inFolder } from "./folder.ts";
import { measureLongLogs } from "./long-logs.ts";
import { machineName } from "./machine.ts";
import { measurePlanning } from "./planning.ts";
import { leaveKilled, measureReopening } from "./reopening.ts";
import { reportText, type Report } from "./report.ts";
import { runRounds } from "./rounds.ts";
import { measureSlowStream } from "./slow-stream.ts";
import { createWorkload } from "./workload.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    rounds: { type: "string", default: "9" },
    steps: { type: "string", default: "200" },
  },
});

function countOf(name: "rounds" | "steps", least: number): number {
  const count = Number(values[name]);
  if (Number.isInteger(count) && count >= least) return count;
  throw new Error(`--${name} takes a whole number from ${least} on, not "${values[name]}".`);
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

const count = countOf("rounds", 1);
const steps = countOf("steps", 10);
const workload = createWorkload(steps);

const report: Report = await inFolder(async (dir) => {
  const closedStore = join(dir, "closed");
  const killedStore = join(dir, "killed");
  const rounds = await runRounds(workload, {
    count,
    keepAt: closedStore,
    onRound: (round) => {
      progress(`round ${round} of ${count}`);
    },
  });
  progress("reopening");
  await leaveKilled(killedStore, steps, Math.floor(steps * 0.95));
  const closed = await measureReopening(closedStore, steps, count);
  const killed = await measureReopening(killedStore, steps, count);
  progress("a crowd of sessions");
  const crowd = await measureCrowd();
  progress("a slow stream");
  const slowStream = await measureSlowStream();
  const longLogs = await measureLongLogs((events) => {
    progress(`a log of ${events} deltas`);
  });
  progress("planning");
  const planning = await measurePlanning();
  return {
    machine: machineName(),
    steps,
    contentBytes: workload.contentBytes,
    rounds,
    reopening: { closed, killed },
    crowd,
    slowStream,
    longLogs,
    planning,
    bars: checkBars(rounds, closed),
  };
});

process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : reportText(report));
