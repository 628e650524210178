/** The input of a run as a client of AG-UI posts it, as a posted chat: what it says anew, and what it answers. */

import { z } from "zod";
import type { MessagePart } from "../sessions/posted-message.ts";
import { placeOf } from "../../ag-ui/index.ts";
import { defined, jsonObjectSchema, TurnlogError } from "../../events/index.ts";
import type { SessionView } from "../../state/index.ts";
import type { PostedChat, PostedMessage } from "../chat/posted-chat.ts";

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
const answer = z.object({
  interruptId: z.string(),
  status: z.enum(["resolved", "cancelled"]),
  payload: z.json().optional(),
});

/** To connect answers nothing. */
export const connectInput = z.strictObject({
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
export const runInput = connectInput.extend({ resume: z.array(answer).default([]) });
export type RunInput = z.output<typeof connectInput>;

type Posted = z.output<typeof runInput>;
type AnswerPart = PostedMessage["parts"][number] & Readonly<Record<string, unknown>>;
type Content = Posted["messages"][number]["content"];

const given: ReadonlySet<string> = new Set(["title", "status", "lastEnd", "turn", "queue"]);

/** What the server's option `request` reads: all that says something and is not the state that the session gave. */
export function ownFields({ forwardedProps, context, state }: Posted): Record<string, unknown> {
  const fields = Object.entries(jsonObjectSchema.safeParse(state).data ?? {});
  const own = Object.fromEntries(fields.filter(([name]) => !given.has(name)));
  const all = Object.entries({ forwardedProps, context, state: own });
  return Object.fromEntries(all.filter(([, value]) => value && Object.keys(value).length > 0));
}

/** @param view - Of the session, if there is one. @throws TurnlogError `INVALID_INPUT` */
export function chatOfRun(input: Posted, view: SessionView | undefined): PostedChat {
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
        throw refused(view, interruptId, "is no question of this session");
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
