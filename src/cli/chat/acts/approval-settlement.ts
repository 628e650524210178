/** Passes a person's answer about a call to its session. */

import { defined, TurnlogError, type TurnlogErrorCode } from "../../../events/index.ts";
import type { ChatSession } from "../host/chat-session.ts";
import type { Answer } from "../line/chat-line.ts";

const TOO_LATE = "Too late: the call no longer waits.";
const tooLate: ReadonlySet<TurnlogErrorCode> = new Set<TurnlogErrorCode>([
  "APPROVAL_ANSWERED",
  "COMMAND_REFUSED",
]);

/**
 * Undefined if the answer was taken, or else why not: the call was cancelled, it was answered elsewhere, or the values do
 * not fit its form, and it still waits.
 * @param asked - The position of the question: a call id may be used again, a position is not.
 */
export async function settle(
  session: ChatSession,
  asked: number,
  { approved, always, reason, content }: Answer,
): Promise<string | undefined> {
  const why = reason ?? (approved ? undefined : "the user said no");
  const options = { always, ...defined({ reason: why, content }) };
  const { approvals } = await session.view();
  const approval = approvals.find(({ position }) => position === asked);
  if (approval === undefined) return TOO_LATE;
  try {
    await session[approved ? "approve" : "deny"](approval.approvalId, options);
    return undefined;
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    if (error.code === "INVALID_INPUT") return error.message;
    if (tooLate.has(error.code)) return TOO_LATE;
    throw error;
  }
}
