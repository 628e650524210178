/** The outcome of a line typed in a chat: what the chat does next, and what came of an answer about a call. */

import { TurnlogError, defined, type TurnlogErrorCode } from "../../../events/index.ts";
import { conversationOf, type ConversationState } from "../screen/conversation-state.ts";
import type { ChatSession, ChatTurn } from "../host/chat-session.ts";
import type { SessionView } from "../../../state/index.ts";
import type { Answer } from "../line/chat-line.ts";

/**
 * `done`: the events show the rest. `sent`: a turn. `hint`: a sentence in the panel. `lines`: text for
 * the screen. `moved`: another session to switch to.
 */
export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "sent"; readonly turn: ChatTurn; readonly lines?: readonly string[] }
  | { readonly kind: "hint"; readonly text: string }
  | { readonly kind: "lines"; readonly lines: readonly string[] }
  | Moved;

export interface Moved {
  readonly kind: "moved";
  readonly session: ChatSession;
  readonly view: SessionView;
  readonly lines: readonly string[];
}

export function hint(text: string): Outcome {
  return { kind: "hint", text };
}

/** Does it; a hint if the session refuses the command. */
export async function unlessRefused(
  act: () => Promise<unknown>,
  why: (error: TurnlogError) => string,
): Promise<Outcome> {
  try {
    await act();
    return { kind: "done" };
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "COMMAND_REFUSED") throw error;
    return hint(why(error));
  }
}

/** A hint if a command has to wait for the end of a turn or a compaction. */
export async function busyHint(
  command: string,
  session: ChatSession,
  { activity }: ConversationState,
): Promise<Outcome | undefined> {
  // The screen may not have the event of a message that was just sent.
  const now = activity === "idle" ? conversationOf(await session.view()).activity : activity;
  if (now === "idle") return undefined;
  const running = now === "compacting" ? "A compaction" : "A turn";
  return hint(`${running} is running: use /${command} when it has ended; Esc cancels it.`);
}

const turnErrors: ReadonlySet<string> = new Set([
  "TURN_FAILED",
  "COMMAND_REFUSED",
  "RUNTIME_CLOSED",
]);
const commandErrors: ReadonlySet<string> = new Set(["COMMAND_REFUSED", "INVALID_INPUT"]);

/** Whether the session's events show the error. */
export function isShownByEvents(error: unknown): boolean {
  return TurnlogError.isInstance(error) && turnErrors.has(error.code);
}

/** Whether only the command failed, and the session can continue. */
export function isWrongCommand(error: unknown): boolean {
  return TurnlogError.isInstance(error) && commandErrors.has(error.code);
}

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
