/** How the turn ended that a message was delivered to, read from the session's state. Pure. */

import { byId, type StoredError, type TokenUsage, type TurnEndReason } from "../events/index.ts";
import { turnUsage } from "../projections/index.ts";
import type { SessionState } from "./session-state.ts";

export interface TurnResult {
  readonly turn: number;
  /** The text of the turn's last step. */
  readonly text: string;
  readonly finishReason: TurnEndReason;
  /** The sum over the steps of the turn. */
  readonly usage: TokenUsage;
}

export type TurnOutcome =
  | { readonly kind: "ended"; readonly result: TurnResult }
  | { readonly kind: "failed"; readonly result: TurnResult; readonly error: StoredError }
  | { readonly kind: "withdrawn" };

/** The outcome for a message, or undefined while it waits or its turn runs. */
export function turnOutcome(state: SessionState, messageId: string): TurnOutcome | undefined {
  const { history, queue, usage } = state;
  const message = history.items.findLast((item) => item.kind === "user" && item.id === messageId);
  if (message === undefined) {
    const waits = queue.waiting.some((waiting) => waiting.id === messageId);
    return waits || byId(queue.accepted, messageId) === undefined
      ? undefined
      : { kind: "withdrawn" };
  }
  const { turn } = message;
  const end = history.items.findLast((item) => item.kind === "turn-end" && item.turn === turn);
  if (end?.kind !== "turn-end") return undefined;
  const last = history.items.findLast((item) => item.kind === "step" && item.turn === turn);
  const text =
    last?.kind === "step"
      ? last.parts.map((part) => (part.kind === "text" ? part.text : "")).join("")
      : "";
  const result = { turn, text, finishReason: end.reason, usage: turnUsage(usage, turn) };
  return end.error === undefined
    ? { kind: "ended", result }
    : { kind: "failed", result, error: end.error };
}
