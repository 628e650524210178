/** What `verifyLog` finds in a whole log: of the log, and of each of its sessions. */

import type { EventLog } from "../../src/events/index.ts";
import { verifyLog } from "../../src/archive/verify/index.ts";

export async function logProblems(
  log: EventLog,
  options?: Parameters<typeof verifyLog>[1],
): Promise<readonly unknown[]> {
  const { sessions, problems } = await verifyLog(log, options);
  return [...problems, ...sessions.flatMap((session) => session.problems)];
}
