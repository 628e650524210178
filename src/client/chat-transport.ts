/**
 * The transport of an unmodified `useChat` to a turnlog server. For the page, a reply is one stream over all
 * connections: after a lost connection it continues with the first event that has not arrived.
 */

import { whenAborted, isTemporary, type Asked, type Http } from "./http.ts";
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { TurnlogError } from "../events/index.ts";
import type { Client } from "./client.ts";
import { followEvents, waitFor } from "./server-events.ts";
import { sessionClient } from "./session-client.ts";
import { shownHeads, turnOf } from "./shown-heads.ts";

type SendOptions = Parameters<ChatTransport<UIMessage>["sendMessages"]>[0];

/** A message on its way. */
interface Sending {
  /** Resolves once the server has answered, or the request is over. */
  readonly answered: Promise<void>;
  /** A request that got no answer is not repeated. */
  readonly giveUp: () => void;
}

interface ChatTransportOptions {
  /**
   * Whether a message that is sent after the page has taken away messages replaces the first one of the user that was
   * taken away. Default: false, and such a message is refused (`STALE`).
   */
  readonly cutIsEdit?: boolean;
}

/**
 * Connects `useChat` with sessions: the id of the chat is the id of the session. Lost connections and a
 * restarted server do not disturb the page. A message that is sent while a turn runs waits in the server's queue.
 *
 * Leaving is not stopping. `useChat` calls its `stop` also when its component unmounts, so that only leaves the
 * stream, and the turn keeps running. A button that stops calls the `stop` of this transport.
 * @example
 * const client = createClient({ baseUrl: "" });
 * const transport = chatTransport(client);
 * const { messages, sendMessage } = useChat({ id, transport, resume: true });
 * const stop = () => transport.stop(id);
 */
export function chatTransport<Message extends UIMessage = UIMessage>(
  { http }: Client,
  { cutIsEdit = false }: ChatTransportOptions = {},
): ChatTransport<Message> & {
  /**
   * Cancels the running turn of a chat: the act of a user. The page shows how its reply ends. A message that the
   * server does not have yet is not sent again.
   * @throws TurnlogError the server's refusal; `SERVER_UNREACHABLE`
   */
  readonly stop: (chatId: string) => Promise<void>;
} {
  const shown = shownHeads(http);
  const sending = new Map<string, Set<Sending>>();
  return {
    resumeStreamIsReplay: true,

    async sendMessages({ chatId, messages, trigger, abortSignal, headers, body, ...asked }) {
      const left = messages.slice(0, -1);
      const isCut = cutIsEdit && trigger === "submit-message" && shown.isCut(chatId, left);
      const messageId = asked.messageId ?? (isCut ? await behind(http, chatId, left) : undefined);
      const key = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`;
      const request: Asked = {
        method: "POST",
        path: "/api/chat",
        headers: { "idempotency-key": key, ...plainHeaders(headers) },
        body: {
          id: chatId,
          messages: posted(messages),
          trigger,
          messageId,
          basedOn: shown.before({ chatId, messages, trigger, messageId }),
          ...body,
        },
      };
      const given = new AbortController();
      const over = new AbortController();
      const answered = Promise.withResolvers<void>();
      const ask = (): Asked => {
        given.signal.throwIfAborted();
        return request;
      };
      const leave = (): void => {
        given.abort();
        // The message still arrives.
        void answered.promise.then(() => over.abort());
      };
      const one: Sending = { answered: answered.promise, giveUp: () => given.abort() };
      const ofChat = sending.get(chatId) ?? new Set();
      sending.set(chatId, ofChat.add(one));
      const sent = (): void => {
        answered.resolve();
        ofChat.delete(one);
        if (ofChat.size === 0) sending.delete(chatId);
      };
      const release = whenAborted(abortSignal, leave);
      const begun = (turn: number): void => shown.begun(chatId, turn);
      const reply = replyChunks(http, chatId, ask, over.signal, begun, sent);
      const chunks = until(reply, () => {
        release();
        sent();
      });
      // The message is sent now, not when its reply is read.
      const first = chunks.next();
      first.catch(() => shown.forget(chatId));
      return streamOf(chunks, first, leave);
    },

    async reconnectToStream({ chatId, abortSignal, headers }) {
      const request: Asked = { path: streamPath(chatId), headers: plainHeaders(headers) };
      const left = new AbortController();
      const release = whenAborted(abortSignal, () => left.abort(abortSignal?.reason));
      const begun = (turn: number): void => shown.begun(chatId, turn);
      const reply = replyChunks(http, chatId, () => request, left.signal, begun);
      const chunks = until(reply, release);
      const first = chunks.next();
      try {
        if ((await first).done === true) return null;
      } catch (error) {
        if (TurnlogError.isInstance(error) && error.code === "SESSION_NOT_FOUND") return null;
        throw error;
      }
      return streamOf(chunks, first, () => left.abort());
    },

    async stop(chatId) {
      // There is no turn to stop before the server has the message.
      const all = [...(sending.get(chatId) ?? [])];
      for (const { giveUp } of all) giveUp();
      await Promise.all(all.map(({ answered }) => answered));
      await stopTurn(http, chatId);
    },
  };
}

function streamPath(chatId: string): string {
  return `/api/chat/${encodeURIComponent(chatId)}/stream`;
}

function plainHeaders(headers: SendOptions["headers"]): Readonly<Record<string, string>> {
  return headers instanceof Headers ? Object.fromEntries(headers) : { ...headers };
}

/**
 * The server reads the newest message and the answers in the message before it. It only checks the ids of earlier
 * messages.
 */
function posted(
  messages: readonly UIMessage[],
): readonly Pick<UIMessage, "id" | "role" | "parts" | "metadata">[] {
  return messages.map(({ id, role, parts, metadata }, index) => ({
    id,
    role,
    parts: index < messages.length - 2 ? [] : parts,
    ...(index === messages.length - 1 && role === "user" ? { metadata } : {}),
  }));
}

/** The first message of the user behind those that a page has left. */
async function behind(
  http: Http,
  chatId: string,
  left: readonly UIMessage[],
): Promise<string | undefined> {
  const { messages, more } = await sessionClient(http, chatId).messages({ limit: 500 });
  const last = left.at(-1)?.id;
  const index = messages.findIndex(({ id }) => id === last);
  if (index < 0 && (last !== undefined || more)) return undefined;
  return messages.slice(index + 1).find(({ role }) => role === "user")?.id;
}

/** The chunks of one reply, each once, over all connections. */
async function* replyChunks(
  http: Http,
  chatId: string,
  first: () => Asked,
  signal: AbortSignal | undefined,
  onTurn: (turn: number) => void,
  onAnswer?: () => void,
): AsyncGenerator<UIMessageChunk, void, void> {
  let turn: number | undefined;
  /** The position of the last event whose chunks have all arrived, and how many chunks have arrived since. */
  let after: number | undefined;
  let since = 0;
  let skip = 0;
  const ask = (): Asked => {
    skip = since;
    // A request without an answer is repeated: the server does nothing twice.
    if (turn === undefined) return first();
    const { headers = {} } = first();
    return { path: streamPath(chatId), query: { turn, after }, headers };
  };
  for await (const { id, data } of followEvents(http, ask, signal, onAnswer)) {
    if (data === "[DONE]") return;
    // The AI SDK's reader checks what the page uses of a chunk.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const chunk = JSON.parse(data) as UIMessageChunk;
    if (chunk.type === "start") {
      // Each connection begins with the start of the message.
      if (turn === undefined) yield chunk;
      turn = turnOf(chunk.messageMetadata) ?? turn;
      if (turn !== undefined) onTurn(turn);
    } else if (skip > 0) skip--;
    else {
      since++;
      yield chunk;
    }
    if (id !== undefined && Number(id) > (after ?? 0)) {
      after = Number(id);
      since = skip = 0;
    }
  }
}

/** Cancels the running turn, even if the server is unreachable at the moment. */
async function stopTurn(http: Http, chatId: string): Promise<void> {
  const since = Date.now();
  for (let wait = 100; ; wait *= 2) {
    try {
      const path = `/api/chat/${encodeURIComponent(chatId)}/stop`;
      await http.open({ method: "POST", path, body: {}, keepalive: true });
      return;
    } catch (error) {
      if (!isTemporary(error) || Date.now() - since >= http.patienceMs) throw error;
      await waitFor(wait, undefined);
    }
  }
}

/** The chunks; `ended` is called when they end, fail or are left. */
async function* until(
  chunks: AsyncGenerator<UIMessageChunk, void, void>,
  ended: () => void,
): AsyncGenerator<UIMessageChunk, void, void> {
  try {
    yield* chunks;
  } finally {
    ended();
  }
}

function streamOf(
  chunks: AsyncGenerator<UIMessageChunk, void, void>,
  first: Promise<IteratorResult<UIMessageChunk, void>>,
  leave: () => void,
): ReadableStream<UIMessageChunk> {
  let begun: typeof first | undefined = first;
  return new ReadableStream<UIMessageChunk>(
    {
      async pull(controller) {
        const next = await (begun ?? chunks.next());
        begun = undefined;
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel() {
        leave();
        // Waiting for its end would hold up the page.
        void chunks.return().catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}
