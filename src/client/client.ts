/** The client of a turnlog server: sessions, approvals, blobs. */

import type { ApprovalRecorded, CallAnswer, CallAnswered } from "../commands/index.ts";
import type { ListedSession, SessionView } from "../state/index.ts";
import { Http, type ClientOptions } from "./http.ts";
import { sessionClient, type SessionClient } from "./session-client.ts";

interface SessionQuery {
  /** The last name of the previous page. */
  readonly after?: string;
  readonly prefix?: string;
  readonly status?: ListedSession["status"];
  readonly limit?: number;
}

interface Answer {
  readonly reason?: string;
  /** The answer applies to later calls of the tool too. */
  readonly always?: boolean;
}

/**
 * A turnlog server. All methods throw `TurnlogError` with the server's code.
 * @example
 * const client: Client = createClient({ baseUrl: "https://chat.example.com", token });
 * for (const { approvals } of await client.approvals())
 *   for (const { approvalId } of approvals) await client.approve(approvalId);
 */
export interface Client {
  /** A session by its id. Makes no request. */
  session(id: string): SessionClient;
  /** Creates a session, or opens the one of that id. */
  createSession(id?: string): Promise<SessionClient>;
  /** Sessions by name, a page at a time; `next` is the `after` of the next page. */
  sessions(
    query?: SessionQuery,
  ): Promise<{ readonly sessions: readonly ListedSession[]; readonly next?: string }>;
  /** The approvals and outputs that wait for people and clients, in all sessions. */
  approvals(): Promise<readonly Pick<SessionView, "session" | "approvals" | "outputRequests">[]>;
  approve(approvalId: string, answer?: Answer): Promise<ApprovalRecorded>;
  deny(approvalId: string, answer?: Answer): Promise<ApprovalRecorded>;
  answerCall(requestId: string, answer: CallAnswer): Promise<CallAnswered>;
  /** The content of a stored file by its SHA-256. */
  blob(digest: string): Promise<Blob>;
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
  const approval = (approvalId: string, body: object): Promise<ApprovalRecorded> =>
    http.json({ method: "POST", path: `/api/approvals/${encodeURIComponent(approvalId)}`, body });
  return {
    http,
    session: (id) => sessionClient(http, id),
    async createSession(id) {
      const { session } = await http.json<{ session: string }>({
        method: "POST",
        path: "/api/sessions",
        body: { id },
      });
      return sessionClient(http, session);
    },
    sessions: (query = {}) => http.json({ path: "/api/sessions", query: { ...query } }),
    async approvals() {
      type Inbox = { waiting: Awaited<ReturnType<Client["approvals"]>> };
      return (await http.json<Inbox>({ path: "/api/approvals" })).waiting;
    },
    approve: (approvalId, answer) => approval(approvalId, { approved: true, ...answer }),
    deny: (approvalId, answer) => approval(approvalId, { approved: false, ...answer }),
    answerCall: (requestId, answer) =>
      http.json({
        method: "POST",
        path: `/api/outputs/${encodeURIComponent(requestId)}`,
        body: answer,
      }),
    blob: async (digest) => await (await http.open({ path: `/api/blobs/${digest}` })).blob(),
  };
}
