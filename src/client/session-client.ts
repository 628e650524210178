/** The commands and views of one session over HTTP, and its events. */

import {
  TurnlogError,
  type Delivery,
  type FollowOptions,
  type JsonObject,
  type SessionEvent,
} from "../events/index.ts";
import type { BillOptions, SessionBill } from "../bill/index.ts";
import type { CompactionPreview, ContextFigures, Session } from "../runtime/index.ts";
import type {
  Allowance,
  ApprovalAnswer,
  ApprovalRecorded,
  CallAnswer,
  CallAnswered,
  CancelOptions,
  Cancelled,
  MoveOptions,
  PositionOptions,
  RegenerateOptions,
  RewindPlace,
  Rewound,
  ScheduleOptions,
  SendOptions,
  WithdrawOptions,
} from "../commands/index.ts";
import type { MessagePart } from "../media/index.ts";
import type { SessionBranch, SessionDiff, SessionView, SubAgents } from "../state/index.ts";
import type { MessageVersions, SessionMessage } from "../ui/index.ts";
import { serverCommands, sessionCommands } from "./command-table.ts";
import { followEvents } from "./server-events.ts";
import type { Http } from "./http.ts";

/** The server records who the sender is. */
type Sent<Options> = Omit<Options, "by">;
type MessageOptions = Pick<SendOptions, "id" | "delivery" | "notBefore" | "replaces" | "basedOn">;

/** A message that the server has accepted. */
interface Accepted {
  readonly messageId: string;
  /** Whether it waits behind a running turn. */
  readonly queued: boolean;
  /** The position from which the events of its turn come. */
  readonly position: number;
  /** What an edit or a regeneration left. */
  readonly replaced?: Rewound;
}

interface MessagePage {
  readonly messages: SessionMessage[];
  /** Messages that have other versions, left by edits or regenerations. A page shows "2 of 3" and checks out a branch. */
  readonly versions: readonly MessageVersions[];
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
  at(position: number): Promise<SessionView>;
  prompt(position?: number): Promise<Pick<SessionView, "position"> & SessionView["prompt"]>;
  diff(before: number, after: number): Promise<SessionDiff>;
  context(position?: number | PositionOptions): Promise<ContextFigures>;
  bill(options?: BillOptions): Promise<SessionBill>;
  branches(): Promise<readonly SessionBranch[]>;
  subAgents(): Promise<SubAgents>;
  approvals(): Promise<Pick<SessionView, "approvals" | "outputRequests">>;
  queue(): Promise<SessionView["queue"]>;
  /** The newest messages of the active branch for `useChat`, oldest first. `before` asks for an earlier page. */
  messages(options?: { readonly limit?: number; readonly before?: string }): Promise<MessagePage>;
  /** Sends a message: it is durable when this resolves. */
  send(message: string | readonly MessagePart[], options?: MessageOptions): Promise<Accepted>;
  reschedule(messageId: string, to: Delivery | ScheduleOptions): Promise<void>;
  withdraw(messageId: string, reasonOrOptions?: string | Sent<WithdrawOptions>): Promise<void>;
  resume(): Promise<void>;
  /** Runs a turn again for another reply, by default the last one. */
  regenerate(
    options?: Pick<RegenerateOptions, "messageId" | "idempotencyKey" | "basedOn">,
  ): Promise<Accepted>;
  approve(approvalId: string, answer?: Sent<ApprovalAnswer>): Promise<ApprovalRecorded>;
  deny(approvalId: string, answer?: Sent<ApprovalAnswer>): Promise<ApprovalRecorded>;
  answerCall(requestId: string, answer: CallAnswer): Promise<CallAnswered>;
  /** Removes the answer with `always` for a tool, so that its next call asks again. */
  forgetApproval(toolName: string): Promise<void>;
  /** Continues a turn that a limit of spending holds. */
  allow(more: Sent<Allowance>): Promise<void>;
  cancel(options?: Sent<CancelOptions>): Promise<Cancelled>;
  compact(): Promise<SessionEvent>;
  preview(position?: number | PositionOptions): Promise<CompactionPreview>;
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
  /** Changes the agent to another of the server's agents. */
  configure(changes: { readonly agent: string }): Promise<void>;
  /** Replaces the metadata. */
  setMetadata(metadata: JsonObject): Promise<void>;
  /** Gives the session a title in lists. */
  setTitle(title: string): Promise<void>;
  /** Says that the actor of this client has seen all turns that have ended. */
  markSeen(): Promise<void>;
  /** Permanently redacts the content at positions. Needs a store that is encrypted. */
  redact(
    what: Parameters<Session["redact"]>[0],
    options?: { readonly reason?: string },
  ): ReturnType<Session["redact"]>;
  /** Ends the session permanently; its log stays. */
  close(reason?: string): Promise<void>;
  /** `cancel`: ends its turn first. `bill: "forget"`, for operators: removes what it spent from all sums. */
  delete(options?: {
    readonly forks?: "refuse" | "copy";
    readonly cancel?: boolean;
    readonly bill?: "keep" | "forget";
  }): Promise<void>;
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

const sessionRoutes = {
  ...sessionCommands,
  prompt: "json GET /prompt position",
  approvals: "json GET /approvals",
  queue: "messages GET /queue",
  delete: "void DELETE  ...",
} as const;

/** @throws TurnlogError `INVALID_INPUT` for the names that an address takes as a way up */
export function sessionClient(http: Http, id: string): SessionClient {
  if (id === "." || id === "..")
    throw new TurnlogError("INVALID_INPUT", `No session is named ${id}.`, { session: id });
  const base = `/api/sessions/${encodeURIComponent(id)}`;
  return {
    id,
    ...methodsOf<Pick<SessionClient, keyof typeof serverCommands>>(http, serverCommands),
    ...methodsOf<Pick<SessionClient, keyof typeof sessionRoutes>>(http, sessionRoutes, base),
    messages: (options) =>
      http.json({ path: `/api/chat/${encodeURIComponent(id)}/messages`, query: { ...options } }),
    async export() {
      const { body } = await http.open({ path: `${base}/export` });
      return body ?? new Blob([]).stream();
    },
    events: ({ from = 1, signal } = {}) => events(http, `${base}/events`, from, signal),
  };
}

/** A method for each route, which is said in the words of `command-table.ts`. */
export function methodsOf<Methods extends object>(
  http: Http,
  routes: { readonly [Name in keyof Methods]: string },
  base = "",
): Methods {
  const methods = Object.entries<string>(routes).map(([name, route]) => {
    const [answer = "", method, path = "", ...places] = route.split(" ");
    const call = async (...given: unknown[]): Promise<unknown> => {
      const filled = path.replace("*", () => encodeURIComponent(String(given.shift())));
      const fields: Record<string, unknown> = {};
      for (const [index, place] of places.entries()) {
        const [field = "", fixed] = place.replace("...", "").split("=");
        const value: unknown = fixed === undefined ? given[index] : JSON.parse(fixed);
        if (place.startsWith("...") && typeof value === "object") Object.assign(fields, value);
        else fields[field] = value;
      }
      const value = await http.json<Record<string, unknown>>({
        method,
        path: base + filled,
        [method === "POST" ? "body" : "query"]: fields,
      });
      if (answer === "json") return value;
      if (answer !== "session" && answer !== "fork") return value[answer];
      const session = sessionClient(http, String(value["session"]));
      return answer === "session" ? session : { ...value, session };
    };
    return [name, call];
  });
  // Tests call each method by its route.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(methods) as Methods;
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
