/**
 * What is wrong after a kill: with the log as it was left, with the session that is opened on it,
 * and with the turn that is run then. Works on a copy, so that the store itself stays as it was.
 */

import { existsSync } from "node:fs";
import { copyFile, cp } from "node:fs/promises";
import { join } from "node:path";
import { openLog, type EventLog } from "../../src/public/index.ts";
import { lawProblems } from "../support/law-problems.ts";
import { reopeningProblems } from "../support/reopening.ts";
import { replayLog } from "../support/replay.ts";
import { repetitions, wholeLines, workDone } from "../support/workshop.ts";
import { crashAgent, worksOfSubAgents } from "./crash-agent.ts";
import { subAgentProblems } from "./sub-agent-problems.ts";
import type { CrashPlan, Told } from "./crash-plan.ts";
import { shownProblems, wrongOutputs } from "./shown-problems.ts";

export interface Verdict {
  readonly problems: readonly string[];
  /** The last position that the killed process left. */
  readonly position: number;
  /** The last event that it left, as JSON. */
  readonly last: string;
  /** What the session was doing when the process died. */
  readonly doing: string;
}

export async function crashVerdict(
  plan: CrashPlan,
  told: readonly Told[],
  scratch: string,
): Promise<Verdict> {
  const { session, recovery, durability } = plan;
  const works = join(scratch, "works");
  // The killed process has left its socket, which cannot be copied.
  const filter = (path: string): boolean => !path.endsWith(".sock");
  await cp(plan.store, join(scratch, "store"), { recursive: true, filter });
  for (const at of [(file: string) => file, worksOfSubAgents])
    if (existsSync(at(plan.works))) await copyFile(at(plan.works), at(works));
  await using log = await openLog({ dir: join(scratch, "store"), durability });
  const left = await replayLog(log, session);
  const witnessed = { told, works: workDone(works), calls: wholeLines(plan.calls) };
  const problems = [
    ...(await shownProblems(left, witnessed)),
    ...lawProblems(left.events, { cutOff: true }),
    ...(await reopeningProblems({ log, session, recovery, agent: crashAgent({ works }) })),
    ...repetitions(workDone(works)).map((work) => `recovered: ${work}`),
    ...wrongOutputs(await replayLog(log, session)).map((problem) => `recovered: ${problem}`),
    ...(await subAgentProblems(log, session)),
    ...(await consumerProblems(log, wholeLines(plan.consumed))),
    ...repetitions(workDone(worksOfSubAgents(works))).map((work) => `sub-agent: ${work}`),
  ];
  const [doing] = JSON.stringify(left.last.machine.value).match(/[a-z]+/) ?? ["nothing"];
  const last = JSON.stringify(left.events.at(-1));
  return { problems, position: left.events.length, last, doing };
}

/** A consumer gets every event of the log in order, at least once: again, maybe, after a kill. */
async function consumerProblems(
  log: EventLog,
  consumed: readonly string[],
): Promise<readonly string[]> {
  const entries = await Array.fromAsync(log.readAll());
  const lines = entries.map(
    ({ position, session, event }) => `${position} ${session} ${event.position} ${event.type}`,
  );
  const indexes = new Map(lines.map((line, index) => [line, index]));
  let next = 0;
  for (const line of consumed) {
    const index = indexes.get(line);
    if (index === undefined) return [`a consumer got "${line}", which the log does not have`];
    if (index > next) return [`a consumer got "${line}" and never "${lines[next] ?? ""}"`];
    next = Math.max(next, index + 1);
  }
  return [];
}
