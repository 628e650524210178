/** Corrects index rows that a dead process left behind, when a store is opened and before anything is read. */

import { envelopesIn } from "../../event-rows/index.ts";
import { TurnlogError } from "../../../events/index.ts";
import { rowAt, type RowStore } from "../rows/row-store.ts";
import { readFailure } from "../rows/failures.ts";
import { indexRow, readIndex, type SinceMark } from "../rows/session-rows.ts";
import { eventKey, sessionKey } from "../rows/keys.ts";

const AT_ONCE = 64;

/**
 * Damaged, missing and too old rows stay; reading their session reports them.
 * @throws TurnlogError when the store cannot be read or written for another reason than damage
 */
export async function catchUpIndex(database: RowStore, since: SinceMark): Promise<void> {
  const { sessions } = since;
  const batch = database.batch();
  let behind = 0;
  for (let from = 0; from < sessions.length; from += AT_ONCE) {
    const some = sessions.slice(from, from + AT_ONCE);
    const found = await Promise.all(some.map((session) => caughtUp(database, session, since)));
    for (const index of found) {
      if (index === undefined) continue;
      behind++;
      batch.put(index.key, index.row);
    }
  }
  // Not synced: while the mark stays, the next opening does it again.
  if (behind === 0) await batch.close();
  else await batch.write({ sync: false });
}

/** The corrected row; undefined if the row stays as it is. */
async function caughtUp(
  database: RowStore,
  session: string,
  since: SinceMark,
): Promise<ReturnType<typeof indexRow> | undefined> {
  const revision = since.of(session)?.to ?? 0;
  try {
    const stored = await rowAt(database, sessionKey(session));
    const entry = stored === undefined ? undefined : readIndex(session, stored);
    if (entry === undefined || !since.isBehind(session, entry)) return undefined;
    const last = await rowAt(database, eventKey(session, revision));
    const end = envelopesIn(last ?? "", { session, position: revision }).at(-1);
    // If the event is missing, reading the session finds out: the row counts it.
    return indexRow(session, since.caughtUp(session, entry, end?.time));
  } catch (error) {
    const failure = readFailure(error, session, revision);
    if (TurnlogError.isInstance(failure) && failure.code === "LOG_DAMAGED") return undefined;
    throw failure;
  }
}
