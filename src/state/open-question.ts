/** A session that nobody runs, and whose turn waits for a person all the same: it is not at its end. */

import { TurnlogError, type EventLog } from "../events/index.ts";
import { isAtRest, isInTurn } from "./recovery.ts";
import { readSessionState } from "./session-view.ts";

/**
 * Whether a stored session's turn waits for an approval. What a dead process left in another place of
 * a turn waits for nobody, and neither does what cannot be read.
 */
export async function waitsForApproval(log: EventLog, session: string): Promise<boolean> {
  try {
    if ((await log.revision(session)) === 0) return false;
    const state = await readSessionState(log, session);
    return isInTurn(state.machine) && isAtRest(state);
  } catch (error) {
    if (TurnlogError.isInstance(error)) return false;
    throw error;
  }
}
