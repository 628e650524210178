/** Which errors of a session's commands leave a chat as it is, since they are told there. Pure. */

import { TurnlogError } from "../../events/index.ts";

const ofTurns: ReadonlySet<string> = new Set(["TURN_FAILED", "COMMAND_REFUSED", "RUNTIME_CLOSED"]);
const ofCommands: ReadonlySet<string> = new Set(["COMMAND_REFUSED", "INVALID_INPUT"]);

/** What a turn comes to is told by its events. */
export function isToldByEvents(error: unknown): boolean {
  return TurnlogError.isInstance(error) && ofTurns.has(error.code);
}

/** What is wrong with a command, not with the session. */
export function isWrongCommand(error: unknown): boolean {
  return TurnlogError.isInstance(error) && ofCommands.has(error.code);
}
