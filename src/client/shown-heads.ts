/** What the chats of a page have shown, for its transport and for what follows its chats. */

import type { ChatTransport, UIMessage } from "ai";
import type { Http } from "./http.ts";

type Sending = Parameters<ChatTransport<UIMessage>["sendMessages"]>[0];

/** The newest turn and message that a page has shown. */
interface Shown {
  readonly turn?: number;
  readonly messageId?: string;
}

const headsOf = new WeakMap<Http, ShownHeads>();

/** Those of a client's chats. */
export function shownHeads(http: Http): ShownHeads {
  const known = headsOf.get(http) ?? new ShownHeads();
  headsOf.set(http, known);
  return known;
}

/**
 * What each chat has shown, which its requests are based on. `useChat` takes away what follows an edited message or a
 * reply that is run again before it asks the transport, so the newest of it is kept here.
 */
class ShownHeads {
  /** Without a value from an edit or another reply until that reply begins: nothing newer is shown. */
  readonly #heads = new Map<string, Shown | undefined>();

  /** What the page has shown before a request; undefined lets the server compare the messages. */
  before({
    chatId,
    messages,
    trigger,
    messageId,
  }: Pick<Sending, "chatId" | "messages" | "trigger" | "messageId">): Shown | undefined {
    if (messages.at(-1)?.role !== "user") return undefined;
    const known = this.#heads.get(chatId);
    if (trigger === "regenerate-message" || messageId !== undefined) {
      this.#heads.set(chatId, undefined);
      return known;
    }
    // A first message says nothing about what its page shows: perhaps the page loads no history.
    const isUnknown = known === undefined && (this.#heads.has(chatId) || messages.length === 1);
    this.#heads.set(chatId, newestOf(messages));
    return isUnknown ? undefined : newestOf(messages.slice(0, -1));
  }

  /** Whether a page no longer has what it has shown. */
  isCut(chatId: string, left: readonly UIMessage[]): boolean {
    const { turn = 0, messageId } = this.#heads.get(chatId) ?? {};
    const isLeft = messageId === undefined || left.some(({ id }) => id === messageId);
    return !isLeft || turn > (newestOf(left).turn ?? 0);
  }

  /** A request was refused: what it would have shown is not there, and its page may load the messages again. */
  forget(chatId: string): void {
    this.#heads.delete(chatId);
  }

  /** The page shows messages that it has not streamed. */
  loaded(chatId: string, messages: readonly UIMessage[]): void {
    this.#heads.set(chatId, newestOf(messages));
  }

  begun(chatId: string, turn: number): void {
    this.#heads.set(chatId, { ...this.#heads.get(chatId), turn });
  }
}

function newestOf(messages: readonly UIMessage[]): Shown {
  const turn = turnOf(messages.findLast(({ role }) => role === "assistant")?.metadata) ?? 0;
  const messageId = messages.findLast(({ role }) => role === "user")?.id;
  return { turn, ...(messageId === undefined ? {} : { messageId }) };
}

export function turnOf(metadata: unknown): number | undefined {
  if (typeof metadata !== "object" || metadata === null || !("turn" in metadata)) return undefined;
  return typeof metadata.turn === "number" ? metadata.turn : undefined;
}
