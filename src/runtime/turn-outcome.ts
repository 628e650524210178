/** How the turn ended that a message was delivered to, read from the session's state. Pure. */

import { byId, type StoredError, type TokenUsage, type TurnEndReason } from "../events/index.ts";
import { turnUsage, type HistoryState, type ToolCall } from "../projections/index.ts";
import type { SessionState } from "./session-state.ts";

/** How a turn ended, and what it said and cost. */
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
    // In a closed session nothing is delivered any more.
    const waits =
      !state.machine.matches("closed") && queue.waiting.some((waiting) => waiting.id === messageId);
    return waits || byId(queue.accepted, messageId) === undefined
      ? undefined
      : { kind: "withdrawn" };
  }
  const { turn } = message;
  const end = history.items.findLast((item) => item.kind === "turn-end" && item.turn === turn);
  if (end?.kind !== "turn-end") return undefined;
  const text = lastText(history, turn);
  const result = { turn, text, finishReason: end.reason, usage: turnUsage(usage, turn) };
  return end.error === undefined
    ? { kind: "ended", result }
    : { kind: "failed", result, error: end.error };
}

/** What is kept of a turn that was stopped; nothing of no turn. */
export function turnRemains(
  { history, toolCalls }: SessionState,
  turn: number | undefined,
): {
  readonly ended: TurnEndReason | undefined;
  readonly kept: { readonly text: string; readonly calls: readonly ToolCall[] };
} {
  if (turn === undefined) return { ended: undefined, kept: { text: "", calls: [] } };
  const end = history.items.findLast((item) => item.kind === "turn-end" && item.turn === turn);
  const last = history.items.findLast((item) => item.kind === "step" && item.turn === turn);
  const calls = toolCalls.ended.filter((call) => last?.kind === "step" && call.step === last.step);
  return {
    ended: end?.kind === "turn-end" ? end.reason : undefined,
    kept: { text: lastText(history, turn), calls },
  };
}

/** The text of a turn's last step. */
function lastText({ items }: HistoryState, turn: number): string {
  const last = items.findLast((item) => item.kind === "step" && item.turn === turn);
  if (last?.kind !== "step") return "";
  return last.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
