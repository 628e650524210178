/** What came of something that was asked for in a chat. */

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
