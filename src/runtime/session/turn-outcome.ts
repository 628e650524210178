/** How the turn ended that a message was delivered to, read from the session's state. Pure. */

import {
  deepFreeze,
  type StoredError,
  type TokenUsage,
  type TurnEndReason,
} from "../../events/index.ts";
import {
  acceptedAt,
  waitingMessage,
  turnUsage,
  type HistoryItem,
  type HistoryState,
  type StepItem,
  type ToolCall,
  type TurnEndItem,
} from "../../projections/index.ts";
import type { SessionState } from "../../state/index.ts";

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

/**
 * Finds the outcome for a message, or undefined while it waits or its turn runs. It remembers which
 * turn took the message up: a look after each event costs the same in a session of any length.
 */
export function outcomeOf(messageId: string): (state: SessionState) => TurnOutcome | undefined {
  let turn: number | undefined;
  return (state) => {
    const { history, queue, usage } = state;
    const isClosed = state.machine.matches("closed");
    // In a closed session nothing is delivered any more.
    if (!isClosed && waitingMessage(history, messageId) !== undefined) return undefined;
    const accepted = acceptedAt(queue, messageId);
    if (accepted === undefined) return undefined;
    turn ??= turnOf(history, messageId, accepted);
    if (turn === undefined) return { kind: "withdrawn" };
    const end = endOf(history, turn);
    if (end === undefined) return undefined;
    const text = lastText(history, turn);
    const result = { turn, text, finishReason: end.reason, usage: turnUsage(usage, turn) };
    return deepFreeze(
      end.error === undefined
        ? { kind: "ended", result }
        : { kind: "failed", result, error: end.error },
    );
  };
}

/** The turn that a message was delivered to, which was accepted at a position. */
function turnOf({ items }: HistoryState, id: string, accepted: number): number | undefined {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index];
    if (item === undefined || item.position < accepted) return undefined;
    if (item.kind === "user" && item.id === id) return item.turn;
  }
  return undefined;
}

/** The end of a turn, which is the last that it has. */
function endOf({ items }: HistoryState, turn: number): TurnEndItem | undefined {
  const last = items[lastIndexOf(items, turn)];
  return last?.kind === "turn-end" ? last : undefined;
}

/** The index of the last item of a turn; -1 where it has none. */
function lastIndexOf(items: readonly HistoryItem[], turn: number): number {
  const last = items.findLastIndex((item) => item.turn <= turn);
  return items[last]?.turn === turn ? last : -1;
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
  const last = lastStep(history, turn);
  const calls = toolCalls.ended.filter((call) => call.step === last?.step);
  return deepFreeze({
    ended: endOf(history, turn)?.reason,
    kept: { text: lastText(history, turn), calls },
  });
}

function lastStep({ items }: HistoryState, turn: number): StepItem | undefined {
  for (let index = lastIndexOf(items, turn); index >= 0; index--) {
    const item = items[index];
    if (item?.turn !== turn) return undefined;
    if (item.kind === "step") return item;
  }
  return undefined;
}

/** The text of a turn's last step. */
function lastText(history: HistoryState, turn: number): string {
  const { parts = [] } = lastStep(history, turn) ?? {};
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
