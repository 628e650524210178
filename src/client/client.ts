/** The client of a turnlog server: sessions, approvals, blobs. */

import { TurnlogError, type JsonObject } from "../events/index.ts";
import type { BillQuery, BillRow } from "../context/index.ts";
import type { ListedSession, SessionView } from "../state/index.ts";
import { followChat, type FollowingChat } from "./follow-chat.ts";
import { Http, type ClientOptions } from "./http.ts";
import { serverCommands } from "./command-table.ts";
import { methodsOf, sessionClient, type SessionClient } from "./session-client.ts";

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
