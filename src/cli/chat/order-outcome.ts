/** What came of something that was asked for in a chat. */

import type { Turn } from "../../runtime/index.ts";

/** Nothing that its events would not tell, a turn, a hint by the line, or lines for the screen. */
export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "sent"; readonly turn: Turn }
  | { readonly kind: "hint"; readonly text: string }
  | { readonly kind: "lines"; readonly lines: readonly string[] };

export function hint(text: string): Outcome {
  return { kind: "hint", text };
}
