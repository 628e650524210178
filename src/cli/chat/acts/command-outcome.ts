/** The outcome of a line typed in a chat: what the chat does next. */

import { TurnlogError } from "../../../events/index.ts";
import type { ChatSession, ChatTurn } from "../host/chat-session.ts";
import type { SessionView } from "../../../state/index.ts";

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
