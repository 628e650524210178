/**
 * Whether a kept fold may hold erased content. A session has events of the sessions that it branches off, and
 * their erasure is an event of theirs, so every holder of a fold must check the whole line.
 */

import { TurnlogError, type EventLog, type SessionEvent } from "../events/index.ts";
import { linkOf } from "./branches.ts";

const erasing: ReadonlySet<SessionEvent["type"]> = new Set(["session.redacted", "session.thinned"]);

type LineLog = Pick<EventLog, "list" | "read" | "revision">;

/** The last known positions of a session and of those that it branches off. */
export type LineRevisions = Map<string, number>;

/** Ask before the fold begins: what is erased during the fold is found by the next question. */
export async function lineRevisions(log: LineLog, session: string): Promise<LineRevisions> {
  const revisions: LineRevisions = new Map();
  for (let id: string | undefined = session; id !== undefined && !revisions.has(id);) {
    revisions.set(id, await log.revision(id));
    id = (await linkOf(log, id))?.session;
  }
  return revisions;
}

/** Whether nothing of the line was erased or deleted since. Reads its new events, and notes their positions. */
export async function isUnerased(log: LineLog, revisions: LineRevisions): Promise<boolean> {
  try {
    for (const [id, before] of revisions) {
      const revision = await log.revision(id);
      if (revision < before) return false;
      if (revision === before) continue;
      for await (const { type } of log.read(id, { from: before + 1, to: revision }))
        if (erasing.has(type)) return false;
      revisions.set(id, revision);
    }
    return true;
  } catch (error) {
    // It is folded again, which shows what cannot be read.
    if (TurnlogError.isInstance(error)) return false;
    throw error;
  }
}
