/** Hands a person's answer about a call to its session. */

import { TurnlogError } from "../../events/index.ts";
import type { Session } from "../../runtime/index.ts";
import type { Answer } from "./chat-line.ts";

/** Whether the answer still counted: a call may have been cancelled, or answered elsewhere. */
export async function settle(
  session: Session,
  callId: string,
  { approved, always, reason }: Answer,
): Promise<boolean> {
  const told = reason ?? (approved ? undefined : "the user said no");
  const options = { always, ...(told === undefined ? {} : { reason: told }) };
  try {
    await (approved ? session.approve(callId, options) : session.deny(callId, options));
    return true;
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "COMMAND_REFUSED") throw error;
    return false;
  }
}
