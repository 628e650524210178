/** Where a session would have to branch off so that something has not happened yet. Pure. */

import type { HistoryItem, HistoryState, UserItem } from "./history-item.ts";
import { acceptedAt, type QueueState } from "./queue.ts";

/** A position from which something has not happened yet, and what waits there. */
export interface BranchPoint {
  /** The last position before it. */
  readonly position: number;
  /** The messages of it that wait there already: a fork takes them back, lest they are delivered again. */
  readonly waiting: readonly string[];
}

/** What a fork is to be without. */
export interface Retraction {
  /** The ids of its messages. */
  readonly messages: readonly string[];
  /** The turn that has not begun then, and a position by which it had; or what was given to the model in one. */
  readonly before:
    | { readonly kind: "turn"; readonly turn: number; readonly begun: number }
    | { readonly kind: "delivery"; readonly position: number };
}

/** What is looked at to find one. */
export interface Branching {
  readonly position: number;
  readonly history: HistoryState;
  readonly queue: QueueState;
}

/** The last turn that was told something, also one that runs, or is about to be told what waits. */
export function lastTurn({ position, history, queue }: Branching): Retraction | undefined {
  const { items, open, turn } = history;
  // It has begun, and that is all there is of it.
  if (open === undefined && turn > (items.at(-1)?.turn ?? 0)) {
    const messages = queue.waiting.map(({ id }) => id);
    return { messages, before: { kind: "turn", turn, begun: position } };
  }
  const last = items.findLast(isUser);
  if (last === undefined) return undefined;
  return beforeTurn(items.filter(isUser).filter((message) => message.turn === last.turn));
}

/**
 * The last message that was delivered. With it goes the turn that it began; one that was given to the
 * model between two steps goes by itself.
 */
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

/**
 * Where to fork to be without it. `start` is the position of what is not to have happened: of the
 * delivery, or of the turn's `turn.started`, which no message that came during the turn can move.
 */
export function pointBefore(
  { messages, before }: Retraction,
  start: number,
  queue: QueueState,
): BranchPoint {
  const came = messages.map((id) => acceptedAt(queue, id) ?? 0);
  let position = start - 1;
  // What was said right before the turn need not be said and taken back.
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
