/** Reads from the list of sessions where a session branches off. */

import type { EventLog, ForkPoint } from "../events/index.ts";

/** Undefined for a session that is not a fork or does not exist. */
export async function linkOf(
  log: Pick<EventLog, "list">,
  session: string,
): Promise<ForkPoint | undefined> {
  // The first entry with this prefix is the session itself, if it exists.
  for await (const entry of log.list({ prefix: session })) {
    return entry.session === session ? entry.forkedFrom : undefined;
  }
  return undefined;
}
