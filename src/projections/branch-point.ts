/** Where a session would have to branch off so that something has not happened yet. Pure. */

import { byId } from "../events/index.ts";
import type { HistoryItem, HistoryState, UserItem } from "./history-item.ts";
import type { QueueState } from "./queue.ts";

/** A position from which something has not happened yet, and what waits there. */
export interface BranchPoint {
  /** The last position before it. */
  readonly position: number;
  /** The messages that are not delivered there, oldest first. */
  readonly messages: readonly UserItem[];
  /** Those of them that wait there already: a fork takes them back, lest they are delivered again. */
  readonly waiting: readonly string[];
}

/** What is looked at to find one. */
export interface Branching {
  readonly history: HistoryState;
  readonly queue: QueueState;
}

/**
 * Where to fork to be back before the last turn, also one that runs. Undefined when there was none,
 * or nothing before it.
 */
export function beforeLastTurn({ history, queue }: Branching): BranchPoint | undefined {
  const messages = history.items.filter(isUser).filter(({ turn }) => turn === history.turn);
  return pointBefore(messages, history.items, queue);
}

/**
 * Where to fork to say the last delivered message in another way. Before its turn, where it began
 * one; in the middle of the turn, where it was given to the model between two steps.
 */
export function beforeLastMessage({ history, queue }: Branching): BranchPoint | undefined {
  const { items } = history;
  const message = items.findLast(isUser);
  if (message === undefined) return undefined;
  const wasSteered = items
    .slice(0, items.indexOf(message))
    .some(({ kind, turn }) => kind === "step" && turn === message.turn);
  return wasSteered
    ? { position: message.position - 1, messages: [message], waiting: [message.id] }
    : pointBefore([message], items, queue);
}

function isUser(item: HistoryItem): item is UserItem {
  return item.kind === "user";
}

/** Before messages came with which a turn began, but not before the turn before it was over. */
function pointBefore(
  messages: readonly UserItem[],
  items: readonly HistoryItem[],
  { accepted }: QueueState,
): BranchPoint | undefined {
  const [first] = messages;
  if (first === undefined) return undefined;
  const before = items.findLast(({ kind, turn }) => kind === "turn-end" && turn < first.turn);
  const rest = before?.position ?? 0;
  const came = messages.map(({ id }) => byId(accepted, id) ?? rest);
  const later = came.filter((position) => position > rest);
  const position = later.length === 0 ? rest : Math.min(...later) - 1;
  if (position === 0) return undefined;
  const waiting = messages.flatMap(({ id }, index) => ((came[index] ?? 0) > position ? [] : [id]));
  return { position, messages, waiting };
}
