/** Reads the snapshots of many sessions by few look-ups. Lists use it; opening a session reads its own. */

import type { EventLog, Snapshot } from "../events/index.ts";

/** Sessions whose snapshots are read by one look-up. */
const TOGETHER = 256;

/**
 * Yields each session with its stored snapshot of a projection. Undefined: it has none under its own name, or
 * the log reads single ones only. The snapshot may be newer than the session was when it was listed.
 */
export async function* withSnapshots<Session extends { readonly session: string }>(
  log: Pick<EventLog, "loadSnapshots">,
  sessions: AsyncIterable<Session>,
  projection: string,
): AsyncGenerator<readonly [Session, Snapshot | undefined]> {
  let together: Session[] = [];
  for await (const session of sessions) {
    if (together.push(session) < TOGETHER) continue;
    yield* loaded(log, together, projection);
    together = [];
  }
  yield* loaded(log, together, projection);
}

async function* loaded<Session extends { readonly session: string }>(
  log: Pick<EventLog, "loadSnapshots">,
  sessions: readonly Session[],
  projection: string,
): AsyncGenerator<readonly [Session, Snapshot | undefined]> {
  const names = sessions.map(({ session }) => session);
  const stored = await log.loadSnapshots?.(names, projection);
  for (const [index, session] of sessions.entries()) yield [session, stored?.[index]];
}
