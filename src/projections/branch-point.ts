/** Finds the fork point before a turn or a message. Pure. */

import type { HistoryItem, HistoryState, UserItem } from "./history-item.ts";
import { acceptedAt, type QueueState } from "./queue.ts";

/** The last position before a turn or a delivery. */
export interface BranchPoint {
  readonly position: number;
  /** Its messages that wait there already: a fork withdraws them, or they would be delivered again. */
  readonly waiting: readonly string[];
}

export interface Retraction {
  readonly messages: readonly string[];
  /** The turn, and a position at which it had begun; or the position of the delivery. */
  readonly before:
    | { readonly kind: "turn"; readonly turn: number; readonly begun: number }
    | { readonly kind: "delivery"; readonly position: number };
}

/** At the session's last position. */
export interface Branching {
  readonly position: number;
  readonly history: HistoryState;
  readonly queue: QueueState;
}

/** Also one that runs or has just begun. */
export function lastTurn({ position, history, queue }: Branching): Retraction | undefined {
  const { items, open, turn } = history;
  // The turn has begun and nothing else has happened in it.
  if (open === undefined && turn > (items.at(-1)?.turn ?? 0)) {
    const messages = queue.waiting.map(({ id }) => id);
    return { messages, before: { kind: "turn", turn, begun: position } };
  }
  const last = items.findLast(isUser);
  if (last === undefined) return undefined;
  return beforeTurn(items.filter(isUser).filter((message) => message.turn === last.turn));
}

/** With the turn that it began. A message that was delivered between two steps is left out alone. */
export function lastMessage({ history: { items } }: Branching): Retraction | undefined {
  const message = items.findLast(isUser);
  if (message === undefined) return undefined;
  const { id, turn, position } = message;
  const wasSteered = items
    .slice(0, items.indexOf(message))
    .some((item) => item.kind === "step" && item.turn === turn);
  return wasSteered
    ? { messages: [id], before: { kind: "delivery", position } }
    : beforeTurn([message]);
}

/** The fork point that leaves a retraction out. `start`: its delivery or its `turn.started`. */
export function pointBefore(
  { messages, before }: Retraction,
  start: number,
  queue: QueueState,
): BranchPoint {
  const came = messages.map((id) => acceptedAt(queue, id) ?? 0);
  let position = start - 1;
  // Messages that were sent right before the turn are left out too.
  while (before.kind === "turn" && came.includes(position)) position -= 1;
  const waiting = messages.filter((_, index) => (came[index] ?? 0) <= position);
  return { position, waiting };
}

function isUser(item: HistoryItem): item is UserItem {
  return item.kind === "user";
}

function beforeTurn(messages: readonly UserItem[]): Retraction | undefined {
  const [first] = messages;
  if (first === undefined) return undefined;
  const before = { kind: "turn", turn: first.turn, begun: first.position } as const;
  return { messages: messages.map(({ id }) => id), before };
}
