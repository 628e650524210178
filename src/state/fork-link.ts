/** Where a session branches off, as the list of sessions has it. */

import type { EventLog, ForkPoint } from "../events/index.ts";

/** Undefined for a session that is no fork, or is not there. */
export async function linkOf(
  log: Pick<EventLog, "list">,
  session: string,
): Promise<ForkPoint | undefined> {
  // No other name that begins with this one is listed before it.
  for await (const entry of log.list({ prefix: session })) {
    return entry.session === session ? entry.forkedFrom : undefined;
  }
  return undefined;
}
