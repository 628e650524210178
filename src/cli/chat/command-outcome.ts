/** What came of something that was asked for in a chat. */

import { TurnlogError } from "../../events/index.ts";
import type { Session, Turn } from "../../runtime/index.ts";
import type { SessionView } from "../../state/index.ts";

/**
 * Nothing that its events would not tell, a turn, a hint by the line, lines for the screen, or another
 * session in which the chat goes on.
 */
export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "sent"; readonly turn: Turn }
  | { readonly kind: "hint"; readonly text: string }
  | { readonly kind: "lines"; readonly lines: readonly string[] }
  | Moved;

export interface Moved {
  readonly kind: "moved";
  readonly session: Session;
  /** How it stands. */
  readonly view: SessionView;
  readonly lines: readonly string[];
}

export function hint(text: string): Outcome {
  return { kind: "hint", text };
}

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
