/** A message of a prompt with its source. */

import type { ModelMessage } from "ai";

export type PromptOrigin =
  | { readonly kind: "user"; readonly position: number; readonly id: string }
  /** The model's output in a step, or the results of its calls. */
  | { readonly kind: "step"; readonly position: number; readonly role: ModelMessage["role"] }
  /** The note that the model should conclude. */
  | { readonly kind: "note"; readonly position: number }
  /** The summary of the compaction at a position. */
  | { readonly kind: "summary"; readonly position: number }
  /** Items that a reduction sends as plain text, by the position of the first. */
  | { readonly kind: "as-text"; readonly position: number }
  /** The note after a step that was cut off. */
  | { readonly kind: "cut-off-note"; readonly position: number }
  /** A message that `prepareStep` added, by its `step.prepared` and its index there. */
  | { readonly kind: "prepared"; readonly position: number; readonly index: number };

export interface PromptEntry {
  readonly message: ModelMessage;
  readonly origin: PromptOrigin;
}
