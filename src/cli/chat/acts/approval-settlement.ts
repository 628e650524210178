/** Passes a person's answer about a call to its session. */

import { TurnlogError, type TurnlogErrorCode } from "../../../events/index.ts";
import type { ChatSession } from "../host/chat-session.ts";
import type { Answer } from "../line/chat-line.ts";

const tooLate: ReadonlySet<TurnlogErrorCode> = new Set<TurnlogErrorCode>([
  "APPROVAL_ANSWERED",
  "COMMAND_REFUSED",
]);

/**
 * False if the question is no longer open: the call was cancelled, or answered elsewhere.
 * @param asked - The position of the question: a call id may be used again, a position is not.
 */
export async function settle(
  session: ChatSession,
  asked: number,
  { approved, always, reason }: Answer,
): Promise<boolean> {
  const why = reason ?? (approved ? undefined : "the user said no");
  const options = { always, ...(why === undefined ? {} : { reason: why }) };
  const { approvals } = await session.view();
  const approval = approvals.find(({ position }) => position === asked);
  if (approval === undefined) return false;
  try {
    await session[approved ? "approve" : "deny"](approval.approvalId, options);
    return true;
  } catch (error) {
    if (!TurnlogError.isInstance(error) || !tooLate.has(error.code)) throw error;
    return false;
  }
}
