/** The commands and views of one session over HTTP, and its events. */

import type { Delivery, FollowOptions, SessionEvent } from "../events/index.ts";
import type { CompactionPreview, ContextFigures } from "../runtime/index.ts";
import type {
  CancelOptions,
  Cancelled,
  MoveOptions,
  RewindPlace,
  Rewound,
  ScheduleOptions,
  SendOptions,
} from "../commands/index.ts";
import type { SessionBranch, SessionDiff, SessionView } from "../state/index.ts";
import type { SessionMessage } from "../ui/index.ts";
import { followEvents } from "./server-events.ts";
import type { Asked, Http } from "./http.ts";

/** A part of a message to send. Files are `data:` or `http(s):` URLs, or `/api/blobs/<digest>` of the store. */
export type MessagePart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly url: string;
      readonly filename?: string;
    };

/** The server records who the sender is. */
type Sent<Options> = Omit<Options, "by">;
type MessageOptions = Pick<SendOptions, "id" | "delivery" | "notBefore" | "replaces" | "basedOn">;

interface MessagePage {
  readonly messages: SessionMessage[];
  /** Whether there are earlier messages. */
  readonly more: boolean;
  /** The position in the log up to which the messages are complete. */
  readonly position: number;
  readonly queue: SessionView["queue"];
}

/**
 * A session of a server. Each method calls the route of the same name and does what the same method of the
 * runtime's `Session` does. All throw `TurnlogError` with the server's code.
 * @example
 * const session: SessionClient = createClient({ baseUrl, token }).session("s-1");
 * await session.send("Hello");
 */
export interface SessionClient {
  readonly id: string;
  /** The session now, or as it was at a position. */
  view(position?: number): Promise<SessionView>;
  prompt(
    position?: number,
  ): Promise<Pick<SessionView, "position"> & { readonly messages: SessionView["prompt"] }>;
  diff(before: number, after: number): Promise<SessionDiff>;
  context(position?: number): Promise<ContextFigures>;
  branches(): Promise<readonly SessionBranch[]>;
  approvals(): Promise<Pick<SessionView, "approvals" | "outputRequests">>;
  queue(): Promise<SessionView["queue"]>;
  /** The newest messages of the active branch for `useChat`, oldest first. `before` asks for an earlier page. */
  messages(options?: { readonly limit?: number; readonly before?: string }): Promise<MessagePage>;
  /** Sends a message: it is durable when this resolves. */
  send(
    message: string | readonly MessagePart[],
    options?: MessageOptions,
  ): Promise<{ readonly messageId: string; readonly queued: boolean; readonly position: number }>;
  reschedule(messageId: string, to: Delivery | ScheduleOptions): Promise<void>;
  withdraw(messageId: string): Promise<void>;
  resume(): Promise<void>;
  cancel(options?: Sent<CancelOptions>): Promise<Cancelled>;
  compact(): Promise<SessionEvent>;
  preview(position?: number): Promise<CompactionPreview>;
  restore(position?: number): Promise<void>;
  rewind(options: RewindPlace & Sent<MoveOptions>): Promise<Rewound>;
  checkout(branch: number, options?: Sent<MoveOptions>): Promise<Rewound>;
  fork(options?: { readonly position?: number; readonly id?: string }): Promise<SessionClient>;
  rerun(
    options?: { readonly id?: string } & (
      | { readonly position?: number | undefined; readonly step?: never }
      | { readonly step?: number; readonly position?: never }
    ),
  ): Promise<{
    readonly session: SessionClient;
    readonly messageId: string;
    /** The last position that both sessions share. */
    readonly position: number;
  }>;
  delete(options?: { readonly forks?: "refuse" | "copy" }): Promise<void>;
  /** The session as an exported file, line by line. */
  export(): Promise<ReadableStream<Uint8Array>>;
  /**
   * The events from a position (default 1): stored ones, then live ones. A lost connection is reopened at the
   * next position, so that no event is missed or repeated. Ends when the signal aborts.
   * @throws TurnlogError the server's refusal; `SERVER_UNREACHABLE`
   * @example
   * for await (const event of client.session("s-1").events({ from: 120 })) console.log(event.type);
   */
  events(options?: FollowOptions): AsyncIterable<SessionEvent>;
}

export function sessionClient(http: Http, id: string): SessionClient {
  const base = `/api/sessions/${encodeURIComponent(id)}`;
  const get = <Answer>(path: string, query: Asked["query"] = {}): Promise<Answer> =>
    http.json({ path: base + path, query });
  const post = <Answer>(path: string, body: unknown = {}): Promise<Answer> =>
    http.json({ method: "POST", path: base + path, body });
  const message = (messageId: string): string => `/queue/${encodeURIComponent(messageId)}`;

  return {
    id,
    view: (position) => get("", { position }),
    prompt: (position) => get("/prompt", { position }),
    diff: (before, after) => get("/diff", { before, after }),
    context: (position) => get("/context", { position }),
    branches: async () => (await get<{ branches: readonly SessionBranch[] }>("/branches")).branches,
    approvals: () => get("/approvals"),
    queue: async () => (await get<{ messages: SessionView["queue"] }>("/queue")).messages,
    messages: ({ limit, before } = {}) =>
      http.json({ path: `/api/chat/${encodeURIComponent(id)}/messages`, query: { limit, before } }),
    send: (content, options = {}) => post("/queue", { message: content, ...options }),
    async reschedule(messageId, to) {
      await post(message(messageId), typeof to === "string" ? { delivery: to } : to);
    },
    async withdraw(messageId) {
      await http.json({ method: "DELETE", path: base + message(messageId) });
    },
    async resume() {
      await post("/resume");
    },
    cancel: (options) => post("/cancel", options),
    compact: () => post("/compact"),
    preview: (position) => get("/compact", { position }),
    async restore(position) {
      await post("/restore", { position });
    },
    rewind: (options) => post("/rewind", options),
    checkout: (branch, options = {}) => post("/checkout", { branch, ...options }),
    async fork(options) {
      const { session } = await post<{ session: string }>("/fork", options);
      return sessionClient(http, session);
    },
    async rerun(options) {
      const { session, ...begun } = await post<{
        session: string;
        messageId: string;
        position: number;
      }>("/rerun", options);
      return { ...begun, session: sessionClient(http, session) };
    },
    async delete({ forks } = {}) {
      await http.json({ method: "DELETE", path: base, query: { forks } });
    },
    async export() {
      const { body } = await http.open({ path: `${base}/export` });
      return body ?? new ReadableStream({ start: (controller) => controller.close() });
    },
    events: ({ from = 1, signal } = {}) => events(http, `${base}/events`, from, signal),
  };
}

async function* events(
  http: Http,
  path: string,
  from: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<SessionEvent, void, void> {
  let next = from;
  try {
    for await (const { data } of followEvents(
      http,
      () => ({ path, query: { from: next } }),
      signal,
    )) {
      // The server checked it when it was recorded.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const event = JSON.parse(data) as SessionEvent;
      next = event.position + 1;
      yield event;
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}
