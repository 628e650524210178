/** Lists sessions from their index rows and from what is known of rows that are behind. */

import type { SessionEntry } from "../../../events/index.ts";
import {
  allRows,
  type Database,
  damagedAt,
  readFailure,
  atLeast,
  readIndex,
  sessionKey,
} from "../rows/index.ts";
import type { IndexRows } from "../heads/index.ts";

/** Without `behind`, each session ends where its index row says. */
export async function* listSessions(
  database: Database,
  prefix: string,
  behind?: IndexRows["all"],
): AsyncGenerator<SessionEntry> {
  let last = prefix;
  try {
    // No session id contains a character above `z`.
    for await (const [key, row] of allRows(database, {
      gte: sessionKey(prefix),
      lt: sessionKey(`${prefix}~`),
    })) {
      last = key.slice(sessionKey("").length);
      const entry = readIndex(last, row);
      if (entry === undefined) throw damagedAt(last, 0, "its index row is altered");
      const { link, ...rest } = atLeast(entry, behind?.get(last));
      yield { session: last, ...rest, ...(link === undefined ? {} : { forkedFrom: link }) };
    }
  } catch (error) {
    throw readFailure(error, last, 0);
  }
}
