/** The list of sessions, from their index rows alone. */

import type { SessionEntry } from "../event-log.ts";
import { allRows, type Database } from "./database.ts";
import { damagedAt, readFailure } from "./failures.ts";
import { readIndex } from "./index-row.ts";
import { sessionKey } from "./keys.ts";

export async function* listSessions(
  database: Database,
  prefix: string,
): AsyncGenerator<SessionEntry> {
  let last = prefix;
  try {
    // No session id holds a character above `z`.
    for await (const [key, row] of allRows(database, {
      gte: sessionKey(prefix),
      lt: sessionKey(`${prefix}~`),
    })) {
      last = key.slice(sessionKey("").length);
      const entry = readIndex(last, row);
      if (entry === undefined) throw damagedAt(last, 0, "its index row is altered");
      const { link, ...rest } = entry;
      yield { session: last, ...rest, ...(link === undefined ? {} : { forkedFrom: link }) };
    }
  } catch (error) {
    throw readFailure(error, last, 0);
  }
}
