/** The sessions of sub-agents after a kill: each is sound, has its task once, and answers a call of its parent. */

import { verifySession } from "../../src/archive/verify/index.ts";
import type { EventLog } from "../../src/public/index.ts";
import { storedEvents } from "../support/replay.ts";

export async function subAgentProblems(log: EventLog, session: string): Promise<readonly string[]> {
  const called = new Set(
    (await storedEvents(log, session)).flatMap((event) =>
      event.type === "tool.started" ? (event.data.child ?? []) : [],
    ),
  );
  const problems: string[] = [];
  for await (const { session: child } of log.list({ prefix: `${session}/` })) {
    const found = (await verifySession(log, child)).problems.map((one) => JSON.stringify(one));
    const tasks = (await storedEvents(log, child)).filter(({ type }) => type === "message.queued");
    if (tasks.length > 1) found.push(`it was given ${tasks.length} tasks`);
    if (!called.has(child)) found.push("no call of its parent names it");
    problems.push(...found.map((problem) => `sub-agent ${child}: ${problem}`));
  }
  return problems;
}
