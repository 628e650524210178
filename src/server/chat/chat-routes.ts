/** The routes that `useChat` calls, and the messages that its page begins with. */

import type { Permission } from "../../commands/index.ts";
import {
  defined,
  entryOf,
  TurnlogError,
  type EventLog,
  type SessionEvent,
} from "../../events/index.ts";
import { z } from "zod";
import {
  type SessionView,
  isUnerased,
  lineRevisions,
  type LineRevisions,
} from "../../state/index.ts";
import { encodedEvents, type Session } from "../../runtime/index.ts";
import { json, numberQuery, route, type Route, type Call } from "../route/route.ts";
import { eventStream, withProblem, type ServerSentEvent } from "../streams/event-stream.ts";
import type { Gate } from "../streams/permitted-events.ts";
import { answerChat, type Reply } from "./chat-request.ts";
import { chatFields, chatOf, postedChat } from "./posted-chat.ts";
import {
  activeMessages,
  messageVersions,
  uiEncoder,
  uiMessages,
  type EventEncoder,
  type SessionMessage,
  type UIMessagesState,
} from "../../ui/index.ts";

const chunkAnswer = {
  kind: "media",
  mediaType: "text/event-stream",
  words: "The AI SDK's UI message stream: one chunk per event, then `[DONE]`.",
} as const;

const MOST_MESSAGES = 500;

export function chatRoutes(): readonly Route[] {
  const folds = new MessageFolds();
  return [
    route({
      name: "postChat",
      method: "post",
      path: "/api/chat",
      action: "send",
      audience: "user",
      summary:
        "Sends the last message, edits it, runs its reply again, or answers calls; streams the reply until it is at rest.",
      body: postedChat,
      answer: chunkAnswer,
      sessionOf: ({ body }) => body.id,
      handle: async (call) => {
        const { chat, own } = chatOf(call.body);
        const turn = await call.turnOf(own, chatFields);
        return chunkStream(await answerChat(call, chat, turn), call, "send");
      },
    }),
    route({
      name: "followChat",
      method: "get",
      path: "/api/chat/{session}/stream",
      action: "read",
      audience: "user",
      summary:
        "The last reply or that of a `turn`, from its start or after the position `after`, then live until it is at rest; with `follow=true`, later replies too. 204 if the chat has no reply.",
      query: z.strictObject({
        follow: z.enum(["true", "false"]).optional(),
        turn: numberQuery.optional(),
        after: numberQuery.optional(),
      }),
      answer: chunkAnswer,
      absent: nothing,
      handle: async (call) => {
        const { follow, turn, after } = call.query;
        const session = await call.open();
        const untilRest = follow !== "true";
        if (untilRest && !hasReply(await session.view())) return nothing();
        const stream = defined({ untilRest, turn, after });
        return chunkStream({ session, stream }, call, "read");
      },
    }),
    route({
      name: "chatChanges",
      method: "get",
      path: "/api/chat/{session}/changes",
      action: "read",
      audience: "user",
      absent: nothing,
      summary:
        "The position of each change after the position `after`, then live: all but the words of replies. 204 if there is no chat. A page that follows loads the messages again.",
      query: z.strictObject({ after: numberQuery.optional() }),
      answer: {
        kind: "media",
        mediaType: "text/event-stream",
        words: "One event each: `id` and `data` are its position.",
      },
      handle: async (call) => {
        const { runtime, session, query, stream, ended } = call;
        const opened = await call.open();
        const revision = await runtime.log.revision(session);
        const each = Math.min(query.after ?? 0, revision) + 1;
        const gate = call.gate("read");
        const positions = (left: AbortSignal) => changes(opened, each, left, gate);
        return eventStream((left) => withProblem(positions(left), call.problem), stream, {}, ended);
      },
    }),
    route({
      name: "stopChat",
      method: "post",
      path: "/api/chat/{session}/stop",
      action: "cancel",
      audience: "user",
      summary: "Cancels the running turn, and says what is kept of it.",
      answer: z.looseObject({ was: z.string() }),
      handle: async ({ open, by }) => json(await (await open()).cancel(by)),
    }),
    route({
      name: "chatMessages",
      method: "get",
      path: "/api/chat/{session}/messages",
      action: "read",
      audience: "user",
      summary:
        "The newest messages of the active branch, oldest first, for `useChat({ messages })`; `before` asks for an earlier page. `versions` has those of which an edit or a regeneration left others: a branch for each, and which one this is. A chat before its first message has none.",
      query: z.strictObject({
        limit: numberQuery.pipe(z.int().min(1).max(MOST_MESSAGES)).optional(),
        before: z.string().min(1).optional(),
      }),
      answer: z.object({
        messages: z.array(z.looseObject({ id: z.string(), role: z.string() })),
        versions: z.array(z.object({ id: z.string(), index: z.int(), branches: z.array(z.int()) })),
        more: z.boolean(),
        position: z.int(),
        queue: z.array(z.looseObject({ id: z.string() })),
      }),
      absent: noMessages,
      handle: async ({ query: { limit = 50, before }, open, runtime, session, ...call }) => {
        const opened = await open();
        const view = await opened.view();
        const wanted = { limit, before };
        const state = await folds.at(runtime.log, opened, view, call, wanted);
        const { end, from, messages } = pageOf(state, wanted);
        if (end < 0) throw unknownMessage(session, before);
        const ids = new Set(messages.map(({ id }) => id));
        const versions = messageVersions(state).filter(({ id }) => ids.has(id));
        const { position, queue } = view;
        return json({ messages, versions, more: from > 0, position, queue });
      },
    }),
  ];
}

interface WantedPage {
  readonly limit: number;
  readonly before: string | undefined;
}

interface MessagePage {
  /** Where it begins among the messages of a fold; negative if it may begin before them. */
  readonly from: number;
  /** -1 for a page before a message that the fold does not have. */
  readonly end: number;
  readonly messages: readonly SessionMessage[];
}

function pageOf(state: UIMessagesState, { limit, before }: WantedPage): MessagePage {
  const all = activeMessages(state);
  const end = before === undefined ? all.length : all.findIndex(({ id }) => id === before);
  return { from: end - limit, end, messages: all.slice(Math.max(0, end - limit), end) };
}

/** What the AI SDK takes for a chat without a reply. */
function nothing(): Response {
  return new Response(null, { status: 204 });
}

/** A page that loads creates no session: its first message does. */
function noMessages(): Response {
  return json({ messages: [], versions: [], more: false, position: 0, queue: [] });
}

function hasReply({ history, state: { value } }: SessionView): boolean {
  const isIdle = typeof value === "object" && "idle" in value;
  return !isIdle || history.some(({ kind }) => kind === "turn-end");
}

function unknownMessage(session: string, id: string | undefined): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `Session ${session} has no message ${id} on its active branch. Load the newest page again.`,
    { session, details: { option: "before" } },
  );
}

/** The answer with the chunks of a reply, while its request is allowed. When the client leaves, the turn continues. */
function chunkStream(reply: Reply, call: Call, action: Permission): Response {
  const gate = call.gate(action);
  return eventStream((left) => chunks(reply, call, left, gate), call.stream, headers, call.ended);
}

const headers = { "x-vercel-ai-ui-message-stream": "v1" };

async function* chunks(
  { session, stream }: Reply,
  { ui, problem }: Pick<Call, "ui" | "problem">,
  left: AbortSignal,
  gate: Gate,
): AsyncGenerator<ServerSentEvent> {
  try {
    const events = encodedEvents(session, { ...stream, ...ui }, uiEncoder(ui), left, gate);
    for await (const { position, chunks: encoded } of events) {
      for (const [index, chunk] of encoded.entries()) {
        const id = index === encoded.length - 1 ? { id: String(position) } : {};
        yield { ...id, data: JSON.stringify(chunk) };
      }
    }
  } catch (error) {
    const { code, detail } = problem(error);
    // The reply continues when the process starts again, or `authorize` works again: clients request a stream
    // without `[DONE]` once more.
    if (code === "RUNTIME_CLOSED" || code === "SERVER_FAILED") return;
    yield { data: JSON.stringify({ type: "error", errorText: detail }) };
  }
  yield { data: "[DONE]" };
}

/** Says when something changed, and nothing of it. */
const changeEncoder: EventEncoder<undefined, true> = {
  initial: () => undefined,
  encode: (state, { type }) => ({
    state,
    chunks: type.startsWith("part.") || type === "tool.progressed" ? [] : [true],
  }),
};

async function* changes(
  session: Session,
  each: number,
  left: AbortSignal,
  gate: Gate,
): AsyncGenerator<ServerSentEvent, void, void> {
  for await (const { position } of encodedEvents(session, { each }, changeEncoder, left, gate))
    yield { id: String(position), data: String(position) };
}

// The UI messages of sessions for pages that load. Folds of the newest sessions are kept, so that a load
// reads only the events that came since. A fold begins with the turns that a page shows: a long chat opens as
// quickly as a short one.

interface Kept {
  readonly revisions: LineRevisions;
  readonly state: UIMessagesState;
  /** The end of the turn before the first one that is folded; 0 if all are. */
  readonly after: number;
  readonly position: number;
}

const MOST_KEPT = 64;

class MessageFolds {
  /** By audience and session: they are shown different things. */
  readonly #kept = new Map<string, Kept>();

  /** The messages of all turns, or of so many of the newest ones that a page is among them. */
  async at(
    log: EventLog,
    opened: Session,
    { history, position }: SessionView,
    { ui, audience }: Pick<Call, "ui" | "audience">,
    wanted: WantedPage,
  ): Promise<UIMessagesState> {
    const { session } = ui;
    const { initial, fold } = uiMessages(ui);
    const key = `${audience} ${session}`;
    const known = this.#kept.get(key);
    const isKept =
      known !== undefined &&
      known.position <= position &&
      // Earlier content has been erased, so the states that were folded from it must go too.
      (await isUnerased(log, known.revisions));
    const ends = history.filter(({ kind }) => kind === "turn-end");
    let kept = isKept ? known : undefined;
    for (let first = kept?.after ?? position; ;) {
      if (kept === undefined) {
        // Each time more of the chat, so that a page that goes back reads it few times.
        const turns = wanted.limit + 1 + 4 * ends.filter((end) => end.position > first).length;
        const after = ends.at(-turns)?.position ?? 0;
        const revisions = await lineRevisions(log, session);
        const branch = await branchOf(opened, after);
        kept = { revisions, state: { ...initial, branch }, after, position: after };
      }
      const { after } = kept;
      let { state } = kept;
      let isWhole = true;
      for await (const event of log.read(session, { from: kept.position + 1, to: position })) {
        isWhole &&= !isOfEarlier(state, event);
        state = fold(state, event);
      }
      // What the first message follows is not known, so a page does not begin with it.
      if (after === 0 || (isWhole && pageOf(state, wanted).from > 0)) {
        this.#keep(key, { ...kept, state, position });
        return state;
      }
      first = after;
      kept = undefined;
    }
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** Whether an event delivers a message that was accepted before the first turn that is folded. */
function isOfEarlier({ encoder }: UIMessagesState, { type, data }: SessionEvent): boolean {
  return (
    type === "message.delivered" &&
    data.ids.some((id) => entryOf(encoder.contents, id) === undefined)
  );
}

/** The branch of a position of the active line. */
async function branchOf(session: Session, position: number): Promise<number> {
  const branches = await session.branches();
  let branch = branches.find(({ active }) => active);
  while (branch !== undefined && branch.id > position) {
    const { parent } = branch;
    branch = branches.find(({ id }) => id === parent);
  }
  return branch?.id ?? 1;
}
