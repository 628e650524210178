/** Compares the prompts at two positions of a session. Runs and writes nothing. */

import type { EventLog } from "../events/index.ts";
import { promptDiff, type PromptDiff } from "../projections/index.ts";
import { EVENTS_PER_SNAPSHOT } from "./snapshot.ts";
import { checkPosition, foldOnwards, readSessionState } from "./view.ts";

/** The difference between the prompts at two positions. */
export interface SessionDiff extends PromptDiff {
  readonly session: string;
  readonly before: number;
  readonly after: number;
}

/**
 * Compares the prompts at two positions of a session, in either order.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` if a position does not exist
 */
export async function diffSession(
  log: EventLog,
  session: string,
  before: number,
  after: number,
): Promise<SessionDiff> {
  await checkPosition(log, session, before);
  await checkPosition(log, session, after);
  const one = await readSessionState(log, session, before);
  // A position far ahead has a nearer snapshot.
  const isNear = after >= before && after - before < EVENTS_PER_SNAPSHOT;
  const other = isNear
    ? await foldOnwards(log, session, one, after)
    : await readSessionState(log, session, after);
  return { session, before, after, ...promptDiff(one, other) };
}
