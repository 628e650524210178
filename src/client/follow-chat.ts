/** Shows in a page what other tabs, devices and programs do to its chat. */

import type { AbstractChat, UIMessage } from "ai";
import { isTemporary, type Http } from "./http.ts";
import { followEvents, waitFor } from "./server-events.ts";
import { sessionClient } from "./session-client.ts";
import { shownHeads } from "./shown-heads.ts";

/** Milliseconds between two looks at a page that is busy, or whose chat does not exist yet. */
const BUSY_MS = 200;
const ABSENT_MS = 5_000;

/** A `Chat` of the AI SDK, in any framework. */
export type FollowingChat = Pick<
  AbstractChat<UIMessage>,
  "id" | "messages" | "status" | "resumeStream"
>;

/** Follows until the signal aborts, or the server refuses. */
export async function followChat(
  http: Http,
  chat: FollowingChat,
  signal: AbortSignal,
): Promise<void> {
  const session = sessionClient(http, chat.id);
  const path = `/api/chat/${encodeURIComponent(chat.id)}/changes`;
  /**
   * The position of the messages that were loaded, and the newest change. A reply that the page streams says nothing of
   * what other tabs had queued before it.
   */
  let shown = Math.max(0, ...chat.messages.map(positionIn));
  let changed = shown;
  let loading: Promise<void> | undefined;

  const load = async (): Promise<void> => {
    while (changed > shown) {
      if (isBusy(chat)) {
        await waitFor(BUSY_MS, signal);
        continue;
      }
      const { messages, position } = await session.messages();
      signal.throwIfAborted();
      if (isBusy(chat)) continue;
      shown = position;
      if (isShown(chat.messages, messages)) continue;

      const older = chat.messages.findIndex(({ id }) => id === messages[0]?.id);
      chat.messages = [...chat.messages.slice(0, Math.max(0, older)), ...messages];
      shownHeads(http).loaded(chat.id, chat.messages);
      const last = messages.at(-1);
      if (last?.role === "assistant" && last.metadata?.endPosition === undefined)
        void chat.resumeStream();
    }
  };
  const loaded = async (): Promise<void> => {
    try {
      await load();
    } catch (error) {
      if (!isTemporary(error)) throw error;
      await waitFor(ABSENT_MS, signal);
      await loaded();
    }
  };

  for (;;) {
    const ask = () => ({ path, query: { after: changed } });
    for await (const { id } of followEvents(http, ask, signal)) {
      changed = Number(id);
      loading ??= loaded()
        // The stream of changes is refused for the same reason.
        .catch(() => {})
        .finally(() => (loading = undefined));
    }
    await waitFor(ABSENT_MS, signal);
  }
}

/** Whether the newest messages are on the page. It may have an answer for a call that waits for one. */
function isShown(page: readonly UIMessage[], messages: readonly UIMessage[]): boolean {
  if (messages.length === 0) return page.length === 0;
  const newest = page.slice(-messages.length);
  return messages.every(({ id, parts }, index) => {
    const { id: shownId, parts: shownParts = [] } = newest[index] ?? {};
    return (
      id === shownId &&
      parts.length === shownParts.length &&
      parts.every((part, at) => isWaiting(part) || stateOf(part) === stateOf(shownParts[at]))
    );
  });
}

type Part = UIMessage["parts"][number];

function isWaiting(part: Part): boolean {
  return stateOf(part) === "approval-requested" || stateOf(part) === "input-available";
}

function stateOf(part: Part | undefined): unknown {
  return part !== undefined && "state" in part ? part.state : undefined;
}

function isBusy({ status }: FollowingChat): boolean {
  return status === "submitted" || status === "streaming";
}

/** The newest position that a reply shows. The metadata of a user's message are the page's own. */
function positionIn({ role, metadata }: UIMessage): number {
  if (role !== "assistant" || typeof metadata !== "object" || metadata === null) return 0;
  const { endPosition, position }: { endPosition?: unknown; position?: unknown } = metadata;
  return Number(endPosition ?? position ?? 0);
}
