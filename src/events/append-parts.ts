/** Appends a session that comes in parts to any log. Called by imports and by logs above others. */

import type { NewEvent } from "./catalogue.ts";
import type { Appended, AppendOptions, EventLog } from "./event-log.ts";

/** A log that cannot take parts is given all events at once, which are all in memory then. */
export async function appendParts(
  log: EventLog,
  session: string,
  parts: AsyncIterable<readonly NewEvent[]>,
  options?: AppendOptions,
): Promise<Appended> {
  if (log.appendParts !== undefined) return await log.appendParts(session, parts, options);
  const events: NewEvent[] = [];
  for await (const part of parts) for (const event of part) events.push(event);
  return await log.append(session, "none", events, options);
}
