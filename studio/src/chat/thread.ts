/** The messages of one branch, and the branches beside each message. Pure. */

import type { readUIMessages, SessionMessage } from "../../../src/public/ui.ts";

type UIMessages = ReturnType<typeof readUIMessages>;

export interface ThreadMessage {
  readonly message: SessionMessage;
  /** The messages that have the same parent, oldest first, itself included. */
  readonly siblings: readonly string[];
}

/** The branch of a message, from the first message to its newest leaf. */
export function threadOf(
  { headId, messages }: UIMessages,
  leaf = headId,
): readonly ThreadMessage[] {
  const byId = new Map(messages.map((placed) => [placed.message.id, placed]));
  const children = Map.groupBy(messages, ({ parentId }) => parentId ?? "");
  const thread: ThreadMessage[] = [];
  let at = leaf === undefined ? undefined : byId.get(leaf);
  while (at !== undefined) {
    const { message, parentId } = at;
    const siblings = (children.get(parentId ?? "") ?? []).map((one) => one.message.id);
    thread.push({ message, siblings });
    at = parentId === undefined ? undefined : byId.get(parentId);
  }
  return thread.toReversed();
}

/** The newest message that follows from one. */
export function leafOf({ messages }: UIMessages, id: string): string {
  const last = new Map<string, UIMessages["messages"][number]>();
  for (const placed of messages)
    if (placed.parentId !== undefined) last.set(placed.parentId, placed);
  let leaf = id;
  for (let next = last.get(leaf); next !== undefined; next = last.get(leaf)) leaf = next.message.id;
  return leaf;
}
