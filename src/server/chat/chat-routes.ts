/** The routes that `useChat` calls, and the messages that its page begins with. */

import type { Permission } from "../../commands/index.ts";
import { defined, TurnlogError } from "../../events/index.ts";
import { z } from "zod";
import type { SessionView } from "../../state/index.ts";
import { encodedEvents, type Session } from "../../runtime/index.ts";
import { json, numberQuery, route, type Route, type Call } from "../route/route.ts";
import { eventStream, withProblem, type ServerSentEvent } from "../streams/event-stream.ts";
import type { Gate } from "../streams/permitted-events.ts";
import { answerChat, type Reply } from "./chat-request.ts";
import { chatFields, chatOf, postedChat } from "./posted-chat.ts";
import { pageOf, type MessageFolds } from "./message-folds.ts";
import { messageVersions, uiEncoder, type EventEncoder } from "../../ui/index.ts";

const chunkAnswer = {
  kind: "media",
  mediaType: "text/event-stream",
  words: "The AI SDK's UI message stream: one chunk per event, then `[DONE]`.",
} as const;

const MOST_MESSAGES = 500;

export function chatRoutes(folds: MessageFolds): readonly Route[] {
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

/** What the AI SDK takes for a chat without a reply. */
function nothing(): Response {
  return new Response(null, { status: 204 });
}

/** A page that loads creates no session: its first message does. */
function noMessages(): Response {
  return json({ messages: [], versions: [], more: false, position: 0, queue: [] });
}

export function hasReply({ history, state: { value } }: SessionView): boolean {
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
    // without `[DONE]` again.
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
