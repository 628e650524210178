/** The client of a turnlog server: sessions, approvals, blobs, and chats of a page that follow what others do. */

import { TurnlogError, type JsonObject } from "../events/index.ts";
import type { BillQuery, BillRow } from "../context/index.ts";
import type { ListedSession, SessionView } from "../state/index.ts";
import { Http, type ClientOptions, isTemporary } from "./http.ts";
import { serverCommands } from "./command-table.ts";
import { methodsOf, sessionClient, type SessionClient } from "./session-client.ts";
import type { AbstractChat, UIMessage } from "ai";
import { followEvents, waitFor } from "./server-events.ts";
import { shownHeads } from "./shown-heads.ts";

interface SessionQuery {
  /** `next` of the previous page. */
  readonly after?: string;
  readonly prefix?: string;
  readonly status?: ListedSession["status"];
  /** Metadata that the sessions must have. */
  readonly where?: JsonObject;
  /** Whether sessions without a message are listed. Default: false. */
  readonly empty?: boolean;
  readonly limit?: number;
}

interface NewSession {
  readonly metadata?: JsonObject;
  /** The name of its agent, on a server with several. */
  readonly agent?: string;
}

/**
 * A turnlog server. All methods throw `TurnlogError` with the server's code.
 * @example
 * const client: Client = createClient({ baseUrl: "https://chat.example.com", token });
 * for (const { approvals } of await client.approvals())
 *   for (const { approvalId } of approvals) await client.approve(approvalId);
 */
export interface Client extends Pick<SessionClient, "approve" | "deny" | "answerCall"> {
  /** A session by its id. Makes no request. */
  session(id: string): SessionClient;
  /** Creates a session, or opens the one of that id. `options` are for a new one. */
  createSession(id?: string, options?: NewSession): Promise<SessionClient>;
  /** Sessions, newest first, a page at a time; `next` is the `after` of the next page. */
  sessions(
    query?: SessionQuery,
  ): Promise<{ readonly sessions: readonly ListedSession[]; readonly next?: string }>;
  /** The approvals and outputs that wait for people and clients, in all sessions. */
  approvals(): Promise<readonly Pick<SessionView, "session" | "approvals" | "outputRequests">[]>;
  /** What all sessions have spent, the dearest first; those of its tenant, for an operator of one. */
  bill(query?: BillQuery): Promise<readonly BillRow[]>;
  /**
   * The content of a file by its `url` in a message. A page whose requests need a token shows an image so:
   * `URL.createObjectURL(await client.blob(url))`.
   * @throws TurnlogError `INVALID_INPUT` for the address of another server
   */
  blob(url: string): Promise<Blob>;
  /**
   * Shows in a page what other tabs, devices and programs do to its chat: the messages are loaded again after a
   * change, and a reply that runs is shown as it is written. A page that streams a reply of its own shows the rest
   * behind it.
   * @param chat - A `Chat` of the AI SDK that was made outside of a component
   * @returns what ends it
   * @example
   * import { Chat } from "@ai-sdk/react";
   *
   * const chat = new Chat({ id: "s-1", transport: chatTransport(client) });
   * const leave = client.followChat(chat);
   */
  followChat(chat: FollowingChat): () => void;
  /** For transports: requests with the client's address, token and checks. */
  readonly http: Http;
}

/**
 * A client for browsers, Node and Bun.
 * @throws TurnlogError `INVALID_INPUT` for unknown options
 * @example
 * const client = createClient({ baseUrl: "https://chat.example.com", token });
 * const { messageId } = await client.session("s-1").send("Hello");
 */
export function createClient(options: ClientOptions): Client {
  const http = new Http(options);
  return {
    http,
    session: (id) => sessionClient(http, id),
    followChat: (chat) => {
      const left = new AbortController();
      followChat(http, chat, left.signal).catch((error: unknown) => {
        // A page has no place for it: its own requests are refused for the same reason.
        if (!left.signal.aborted) console.error(error);
      });
      return () => left.abort();
    },
    ...methodsOf<Pick<Client, keyof typeof routes>>(http, routes),
    bill: async ({ by, ...query } = {}) => {
      const sums = by === undefined ? {} : { by: [by].flat().join(",") };
      const path = "/api/bill";
      const { bill } = await http.json<{ bill: readonly BillRow[] }>({
        path,
        query: { ...query, ...sums },
      });
      return bill;
    },
    blob: async (url) => {
      if (!url.startsWith("/api/sessions/"))
        throw new TurnlogError("INVALID_INPUT", `The server has no file ${url.slice(0, 100)}.`);
      return await (await http.open({ path: url })).blob();
    },
  };
}

const routes = {
  ...serverCommands,
  createSession: "session POST /api/sessions id ...",
  sessions: "json GET /api/sessions ...",
  approvals: "waiting GET /api/approvals",
} as const;

// A chat of a page that shows what other tabs, devices and programs do.

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
