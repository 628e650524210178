/** Whether a message was delivered, and how its turn stands when nothing goes on by itself. Pure. */

import { waitingMessage } from "../../projections/index.ts";
import { isAtRest, waitingApprovals, type Approval, type SessionState } from "../../state/index.ts";
import { outcomeOf, type TurnOutcome } from "./turn-outcome.ts";

/** Where a message was delivered. */
export interface TurnStart {
  /** The position of its `message.delivered`. */
  readonly position: number;
  readonly turn: number;
}

/** Looks for the delivery of a message; undefined while the message waits. */
export function startOf(
  messageId: string,
): (state: SessionState) => TurnStart | "withdrawn" | undefined {
  const outcomeIn = outcomeOf(messageId);
  return (state) => {
    const { history } = state;
    const isClosed = state.machine.matches("closed");
    if (!isClosed && waitingMessage(history, messageId) !== undefined) return undefined;
    const message = history.items.findLast((item) => item.kind === "user" && item.id === messageId);
    if (message !== undefined) return { position: message.position, turn: message.turn };
    return outcomeIn(state)?.kind === "withdrawn" ? "withdrawn" : undefined;
  };
}

type Rest =
  | TurnOutcome
  | { readonly kind: "waiting"; readonly approvals: readonly Approval[] }
  | { readonly kind: "held" };

/** Looks how the turn of a message stands; undefined while something goes on by itself. */
export function restOf(
  session: string,
  messageId: string,
): (state: SessionState) => Rest | undefined {
  const outcomeIn = outcomeOf(messageId);
  return (state) => {
    const outcome = outcomeIn(state);
    if (outcome !== undefined || !isAtRest(state)) return outcome;
    const approvals = waitingApprovals(session, state);
    return approvals.length > 0 ? { kind: "waiting", approvals } : { kind: "held" };
  };
}
