/** The routes of AG-UI 1.0: a run, and the last run again from its start for a client that comes back. */

import {
  agUiEncoder,
  restOf,
  type AgUiEncoderState,
  type AgUiEvent,
  placeOf,
} from "../../ag-ui/index.ts";
import { TurnlogError, defined, jsonObjectSchema } from "../../events/index.ts";
import { encodedEvents } from "../../runtime/index.ts";
import { activeMessages, type SessionMessage } from "../../ui/index.ts";
import { answerChat, type Reply } from "../chat/chat-request.ts";
import { hasReply } from "../chat/chat-routes.ts";
import type { MessageFolds } from "../chat/message-folds.ts";
import { route, type Call, type Route } from "../route/route.ts";
import { eventStream, type ServerSentEvent } from "../streams/event-stream.ts";
import { z } from "zod";
import type { MessagePart } from "../sessions/posted-message.ts";
import type { SessionView } from "../../state/index.ts";
import type { PostedChat, PostedMessage } from "../chat/posted-chat.ts";

const mediaType = "text/event-stream";
const words = "Events of AG-UI 1.0: from `RUN_STARTED` to `RUN_FINISHED` or `RUN_ERROR`, or none.";
const answer = { kind: "media", mediaType, words } as const;

export function agUiRoutes(folds: MessageFolds): readonly Route[] {
  return [
    route({
      name: "agUiRun",
      method: "post",
      path: "/api/ag-ui",
      action: "send",
      audience: "user",
      summary:
        "Runs the agent of the session `threadId`: sends, edits or regenerates the last message, or answers interrupts and calls; streams the run until it is at rest.",
      body: runInput,
      answer,
      sessionOf: ({ body }) => body.threadId,
      handle: async (call) => {
        const { body, runtime, session, open } = call;
        const turn = await call.turnOf(ownFields(body), Object.keys(runInput.shape));
        const isNew = (await runtime.log.revision(session)) === 0;
        await assertTools(call, body, turn.agent);
        const view = isNew ? undefined : await (await open()).view();
        const reply = await answerChat(call, chatOfRun(body, view), turn);
        return runStream(reply, body, call, folds, "send");
      },
    }),
    route({
      name: "agUiConnect",
      method: "post",
      path: "/api/ag-ui/connect",
      action: "read",
      audience: "user",
      summary:
        "The last run of the session `threadId` from its start, then live until it is at rest. Takes the input of a run without `resume`, and sends nothing of it.",
      body: connectInput,
      answer,
      absent: noRun,
      sessionOf: ({ body }) => body.threadId,
      handle: async (call) => {
        const session = await call.open();
        if (!hasReply(await session.view())) return noRun();
        return runStream({ session, stream: {} }, call.body, call, folds, "read");
      },
    }),
  ];
}

function noRun(): Response {
  return new Response("", { headers: { "content-type": mediaType } });
}

/** The agent has its tools; a client runs those without `execute`. @throws TurnlogError `INVALID_INPUT` */
async function assertTools(
  { runtime, session, open }: Call,
  { tools: given }: RunInput,
  agent: string | undefined,
): Promise<void> {
  if (given.length === 0) return;
  await open({ create: true, agent });
  const { tools = {} } = await runtime.agentOf(session);
  const known = Object.entries(tools).filter(([, { execute }]) => execute === undefined);
  const foreign = given.find(({ name }) => !known.some(([own]) => own === name));
  if (foreign === undefined) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `The agent has no tool ${foreign.name} that a client runs. Give it one without \`execute\`.`,
    { session, details: { option: "tools" } },
  );
}

/** The answer with the events of a run, while its request is allowed. When the client leaves, the turn continues. */
function runStream(
  { session, stream: { after, ...at } }: Reply,
  { threadId, runId, protocolVersion, messages: held }: RunInput,
  call: Call,
  folds: MessageFolds,
  action: "send" | "read",
): Response {
  const { ui, audience, runtime, problem, stream, ended } = call;
  const run = { threadId, runId };
  const gate = call.gate(action);
  const sent = (event: AgUiEvent): ServerSentEvent => asEvent(event, protocolVersion);
  let last: AgUiEncoderState | undefined;
  const encoderBehind = async (behind: number) => {
    const all = { limit: Infinity, before: undefined };
    const folded = await folds.at(runtime.log, session, await session.view(), call, all);
    const isBefore = ({ metadata }: SessionMessage): boolean => (metadata?.position ?? 0) <= behind;
    const messages = activeMessages(folded).filter(isBefore);
    const summary = behind === 0 ? undefined : (await session.at(behind)).summary;
    const appEvents = audience === "operator";
    const encoder = agUiEncoder({ ...ui, run, after, held, messages, summary, appEvents });
    const encode: typeof encoder.encode = (state, event) => {
      const encoded = encoder.encode(state, event);
      last = encoded.state;
      return encoded;
    };
    return { ...encoder, encode };
  };
  async function* events(left: AbortSignal): AsyncGenerator<ServerSentEvent> {
    try {
      const encoded = encodedEvents(session, { ...at, ...ui }, encoderBehind, left, gate);
      for await (const { chunks } of encoded) yield* chunks.map(sent);
      if (last !== undefined) yield* restOf(last, run).map(sent);
    } catch (error) {
      // A client that connects again has the rest of the run.
      const { code, detail: message } = problem(error);
      yield sent({ type: "RUN_ERROR", message, code });
    }
  }
  return eventStream(events, stream, {}, ended);
}

/** Clients from before 1.0 declare no version, know no other outcome, and find out themselves which calls are pending. */
function asEvent(event: AgUiEvent, version: string | undefined): ServerSentEvent {
  const isOld = version === undefined && event.type === "RUN_FINISHED";
  const outcome = isOld && event.outcome?.type !== "interrupt" ? { outcome: undefined } : {};
  return { data: JSON.stringify({ ...event, ...outcome }) };
}

// The input of a run, as a posted chat: what it says anew, and what it answers.

const source = z.object({
  type: z.enum(["data", "url", "file"]),
  value: z.string(),
  mimeType: z.string().optional(),
});
const part = z.union([
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.enum(["image", "audio", "video", "document"]), source }),
]);
const message = z.object({
  id: z.string().min(1),
  role: z.enum(["user", "assistant", "reasoning", "tool", "system", "developer"]),
  content: z.union([z.string(), z.array(part)]).default(""),
  toolCallId: z.string().optional(),
  error: z.string().optional(),
});
const resumed = z.object({
  interruptId: z.string(),
  status: z.enum(["resolved", "cancelled"]),
  payload: z.json().optional(),
});

/** To connect answers nothing. */
const connectInput = z.strictObject({
  threadId: z.string(),
  runId: z.string().min(1),
  protocolVersion: z.string().optional(),
  parentRunId: z.string().optional(),
  messages: z.array(message),
  tools: z.array(z.looseObject({ name: z.string() })).default([]),
  context: z.array(z.json()).default([]),
  state: z.json().optional(),
  forwardedProps: z.json().optional(),
});
const runInput = connectInput.extend({ resume: z.array(resumed).default([]) });
type RunInput = z.output<typeof connectInput>;

type Posted = z.output<typeof runInput>;
type AnswerPart = PostedMessage["parts"][number] & Readonly<Record<string, unknown>>;
type Content = Posted["messages"][number]["content"];

const given: ReadonlySet<string> = new Set(["title", "status", "lastEnd", "turn", "queue"]);

/** What the server's option `request` reads: all that says something and is not the state that the session gave. */
function ownFields({ forwardedProps, context, state }: Posted): Record<string, unknown> {
  const fields = Object.entries(jsonObjectSchema.safeParse(state).data ?? {});
  const own = Object.fromEntries(fields.filter(([name]) => !given.has(name)));
  const all = Object.entries({ forwardedProps, context, state: own });
  return Object.fromEntries(all.filter(([, value]) => value && Object.keys(value).length > 0));
}

/** @param view - Of the session, if there is one. @throws TurnlogError `INVALID_INPUT` */
function chatOfRun(input: Posted, view: SessionView | undefined): PostedChat {
  const { threadId: id, resume, state } = input;
  const messages = grouped(input);
  if (view === undefined) return { id, messages };
  const isSaid = messages.at(-1)?.role === "user";
  if (resume.length > 0) messages.splice(isSaid ? -1 : messages.length, 0, answered(resume, view));
  const turn = z.object({ turn: z.int() }).safeParse(state).data?.turn;
  if (turn === undefined || !isSaid) return { id, messages };
  return { id, messages, basedOn: { turn }, ...changed(input, view, turn) };
}

/** A client edits and regenerates by taking messages away. It has seen them, as the state says that it sends back. */
function changed(
  { messages }: Posted,
  { history, summary }: SessionView,
  turn: number,
): Pick<PostedChat, "messageId" | "trigger"> {
  const shown = new Map(messages.map((one) => [one.id, one]));
  const [last] = messages.slice(-1);
  const said = history.filter((item) => item.kind === "user");
  const known = said.find(({ id }) => id === last?.id);
  const hasSeen = turn === summary.turns && summary.status === "idle";
  if (hasSeen && known !== undefined && known.content === last?.content)
    return { trigger: "regenerate-message" };
  const cut = hasSeen ? said.find(({ id }) => !shown.has(id)) : undefined;
  return defined({ messageId: (known ?? cut)?.id });
}

/** The messages of a reply are one, with the outputs of the client's tools. */
function grouped({ messages }: Posted): PostedMessage[] {
  const all: PostedMessage[] = [];
  for (const { id, role, content, error, toolCallId = id } of messages) {
    if (role === "system" || role === "developer") all.push({ id, role: "system", parts: [] });
    else if (role === "user") all.push({ id, role, parts: userParts(content) });
    else {
      const { reply = id, call } = placeOf(role === "tool" ? toolCallId : id);
      const parts = role === "tool" && call ? [outputPart(call, jsonOf(content), error)] : [];
      const earlier = all.at(-1)?.id === reply ? all.pop() : undefined;
      all.push({ id: reply, role: "assistant", parts: [...(earlier?.parts ?? []), ...parts] });
    }
  }
  return all;
}

function userParts(content: Content): readonly MessagePart[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((one) => {
    if (one.type === "text") return one;
    const any = one.type === "document" ? "application/octet-stream" : `${one.type}/*`;
    const { type, value, mimeType: mediaType = any } = one.source;
    const urls = { data: `data:${mediaType};base64,${value}`, url: value, file: "" };
    return { type: "file", mediaType, url: urls[type] };
  });
}

/** A result is text, and so is its JSON. What only looks like a number, as a long one of an order, stays text. */
function jsonOf(content: Content): unknown {
  try {
    const value: unknown = typeof content === "string" ? JSON.parse(content) : content;
    return typeof value === "number" && String(value) !== content ? content : value;
  } catch {
    return content;
  }
}

function outputPart(toolCallId: string, output: unknown, errorText?: string): AnswerPart {
  const state = errorText === undefined ? "output-available" : "output-error";
  return { type: "tool-output", toolCallId, state, output, errorText };
}

const decision = z.object({ approved: z.boolean(), reason: z.string().optional() });

/** The answers to interrupts and calls, in the reply that they are for. */
function answered(answers: Posted["resume"], view: SessionView): PostedMessage {
  let id = "";
  const parts = answers.map(({ interruptId, status, payload }): AnswerPart => {
    const isGiven = status === "resolved";
    const asked = view.approvals.find(({ approvalId }) => approvalId === interruptId);
    const { reply = `reply-${asked?.turn}`, call = "" } = placeOf(interruptId);
    id = reply;
    if (asked === undefined) {
      const ids = view.outputRequests.map(({ callId, turn }) => `reply-${turn} ${callId}`);
      if (!ids.includes(`${reply} ${call}`))
        throw refused(view, interruptId, "is not a question of this session");
      return outputPart(call, payload, isGiven ? undefined : "The client did not run the tool.");
    }
    const { callId: toolCallId, question } = asked;
    const { data } = decision.safeParse(payload);
    if (isGiven && question === undefined && data === undefined)
      throw refused(view, interruptId, "is answered with `{ approved, reason? }`");
    const isForm = question?.kind === "form" && isGiven;
    if (isForm && !jsonObjectSchema.safeParse(payload).success)
      throw refused(view, interruptId, "is answered with an object of the form's values");
    const values = isForm ? { content: payload } : {};
    const said = question === undefined && isGiven ? data : { approved: isGiven };
    const approval = { id: interruptId, ...said, ...values };
    return { type: "tool-approval", toolCallId, state: "approval-responded", approval };
  });
  return { id, role: "assistant", parts };
}

function refused({ session }: SessionView, id: string, why: string): TurnlogError {
  const about = { session, details: { option: "resume" } };
  return new TurnlogError("INVALID_INPUT", `The interrupt ${id} ${why}.`, about);
}
