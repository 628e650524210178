/**
 * Executes a posted chat: it sends, edits, runs a reply again, or answers calls. Repeating a request does nothing
 * twice and returns the same reply.
 */

import type { UserContent } from "ai";
import { TurnlogError, defined, type MessageAbout } from "../../events/index.ts";
import type { Session, StreamOptions } from "../../runtime/index.ts";
import type { Seen, SendOptions } from "../../commands/index.ts";
import { missingSession, type SessionView } from "../../state/index.ts";
import type { Call } from "../route/route.ts";
import { messageInput } from "../sessions/posted-message.ts";
import {
  ActiveIds,
  answersIn,
  nextRevision,
  contentOf,
  wasAccepted,
  type PostedAnswer,
  type PostedChat,
  type PostedMessage,
} from "./posted-chat.ts";

/** The reply that answers a request. */
export interface Reply {
  readonly session: Session;
  readonly stream: StreamOptions;
}

type ChatCall = Pick<
  Call,
  "runtime" | "session" | "seesDeleted" | "request" | "by" | "sender" | "open" | "allow" | "blob"
>;

/** What the server's option `request` makes of the application's fields. */
type Turn = Awaited<ReturnType<Call["turnOf"]>>;

/** Does what a posted chat asks for. @throws TurnlogError `STALE`, `MESSAGE_CONFLICT`, as `Session.send` */
export async function answerChat(call: ChatCall, body: PostedChat, turn: Turn): Promise<Reply> {
  const last = body.messages.at(-1);
  const earlier = body.messages.slice(0, -1);
  if (last === undefined) throw nothingToDo(call.session);
  if (last.role === "system") throw noInstructions(call.session);
  if ((await call.runtime.log.revision(call.session)) === 0)
    return await firstMessage(call, body, turn, earlier, last);
  const session = await call.open({ agent: agentOf(body, turn) });
  const view = await session.view();
  const active = new ActiveIds(view);
  active.assertAll(earlier);
  if (last.role !== "user") return await answered(call, session, view, active, last);
  const isKnown = active.has(last) || (await wasAccepted(session, last.id));
  const shown = earlier.filter(({ role }) => role !== "system");
  const edited = body.messageId === undefined ? undefined : active.current(body.messageId);
  if (edited !== undefined) shown.push({ id: edited, role: "user", parts: [] });
  // A new message that comes alone says nothing about what its page shows.
  const isCompared = !isKnown && (body.basedOn !== undefined || shown.length > 0);
  const seen = isCompared ? active.seenBy(body.basedOn, shown) : undefined;
  const asked = earlier.at(-1);
  if (asked?.role === "assistant") await answerWaiting(call, session, view, active, asked);
  if (body.trigger === "regenerate-message" && isKnown)
    return await regenerated(call, session, active, body, last);
  if (isKnown) return await sentAgain(call, session, active, body, turn, last);
  const { input, about } = await contentFor(call, last, turn);
  if (body.messageId !== undefined && body.messageId !== last.id && edited === undefined)
    throw active.stale(body.messageId);
  if (edited !== undefined) await call.allow("rewind");
  await session.send(input, {
    ...sendOptions(call, body, seen),
    ...about,
    id: last.id,
    ...defined({ replaces: edited }),
  });
  return { session, stream: { messageId: last.id } };
}

async function firstMessage(
  call: ChatCall,
  body: PostedChat,
  turn: Turn,
  earlier: readonly PostedMessage[],
  last: PostedMessage,
): Promise<Reply> {
  const foreign = earlier.find(({ role }) => role !== "system") ?? last;
  if (foreign !== last || last.role !== "user") {
    const missing = await missingSession(call.runtime.log, call.session);
    if (missing.code === "SESSION_DELETED" && call.seesDeleted) throw missing;
    throw new TurnlogError(
      "STALE",
      `Session ${call.session} is new and does not have message ${foreign.id}. Import a conversation, or post its first message alone.`,
      { session: call.session, details: { head: { turn: 0, position: 0 } } },
    );
  }
  const { input, about } = await contentFor(call, last, turn);
  const session = await call.open({ create: true, agent: agentOf(body, turn) });
  await session.send(input, { id: last.id, ...about, ...sendOptions(call, body, seenIn(body)) });
  return { session, stream: { messageId: last.id } };
}

function agentOf({ agent }: PostedChat, turn: Turn): string | undefined {
  return turn.agent ?? agent;
}

/** What the model gets of a message, and what is recorded about it. */
async function contentFor(
  { session, ...call }: ChatCall,
  message: PostedMessage,
  { context, options }: Turn,
): Promise<{ readonly input: UserContent; readonly about: { readonly about?: MessageAbout } }> {
  const { parts, about } = contentOf(session, message);
  const input = await messageInput(call, parts);
  const known = call.sender.about?.context;
  const both = (known ?? context) && { ...known, ...context };
  const all = { ...about, ...defined({ context: both, options }) };
  return { input, about: Object.keys(all).length === 0 ? {} : { about: all } };
}

/** What the page says that it has shown, as a command takes it. */
function seenIn({ basedOn: { turn, messageId } = {} }: PostedChat): Seen | undefined {
  if (turn !== undefined) return { turn };
  return messageId === undefined ? undefined : { messageId };
}

function sendOptions(
  { by }: ChatCall,
  { delivery }: PostedChat,
  basedOn: Seen | undefined,
): SendOptions {
  return defined({ delivery, basedOn, ...by });
}

/** A message that the session has: the same again, or its edit. */
async function sentAgain(
  call: ChatCall,
  session: Session,
  active: ActiveIds,
  body: PostedChat,
  turn: Turn,
  last: PostedMessage,
): Promise<Reply> {
  const { input, about } = await contentFor(call, last, turn);
  const id = active.current(last.id);
  // A page that is behind another tab may show the message of a branch that was left.
  if (id === undefined) throw active.stale(last.id);
  try {
    await session.send(input, { id });
    return { session, stream: { messageId: id } };
  } catch (error) {
    if (!isConflict(error) || body.messageId !== last.id) throw error;
  }
  const seen = active.seenBy(body.basedOn, body.messages);
  await call.allow("rewind");
  const revision = nextRevision(id);
  try {
    const options = { ...sendOptions(call, body, seen), ...about, id: revision, replaces: id };
    await session.send(input, options);
    return { session, stream: { messageId: revision } };
  } catch (error) {
    // Another tab has edited the message in the same moment.
    throw isConflict(error) ? active.stale(id) : error;
  }
}

function isConflict(error: unknown): boolean {
  return TurnlogError.isInstance(error) && error.code === "MESSAGE_CONFLICT";
}

async function regenerated(
  call: ChatCall,
  session: Session,
  active: ActiveIds,
  { messageId: reply, basedOn, messages }: PostedChat,
  last: PostedMessage,
): Promise<Reply> {
  const messageId = active.current(last.id);
  if (messageId === undefined) throw active.stale(last.id);
  const stream = { messageId };
  const isReply = reply !== undefined && reply.startsWith("reply-");
  // That reply was replaced before, by this request or in another tab.
  if (isReply && active.turnOf(reply) === undefined) return { session, stream };
  const seen = active.seenBy(basedOn, messages);
  await call.allow("rewind");
  const key = call.request.headers.get("idempotency-key");
  await session.regenerate({
    messageId,
    ...(key === null || key === "" ? {} : { idempotencyKey: key }),
    ...defined({ basedOn: seen }),
    ...call.by,
  });
  return { session, stream };
}

/** The answers in the last message, which is a reply. The stream continues that message. */
async function answered(
  call: ChatCall,
  session: Session,
  view: SessionView,
  active: ActiveIds,
  last: PostedMessage,
): Promise<Reply> {
  const turn = active.turnOf(last.id);
  if (turn === undefined) throw active.stale(last.id);
  let after = view.position;
  let count = 0;
  for (const answer of answersIn(last)) {
    const asked = askedFor(view, answer, turn);
    if (asked === undefined) continue;
    count++;
    await record(call, session, answer, asked.id);
    after = Math.min(after, (asked.answeredAt ?? Infinity) - 1);
  }
  if (count === 0) throw nothingToDo(session.id);
  return { session, stream: { turn, after } };
}

interface Asked {
  readonly id: string;
  readonly isWaiting: boolean;
  /** The position of the answer. */
  readonly answeredAt: number | undefined;
}

/** The question of a turn that a posted answer is for. */
function askedFor(
  { approvals, outputRequests }: SessionView,
  answer: PostedAnswer,
  turn: number | undefined,
): Asked | undefined {
  if (answer.kind === "approval") {
    const { approvalId: id } = answer;
    const found = approvals.find((one) => one.approvalId === id && one.turn === turn);
    if (found === undefined) return undefined;
    const answeredAt = "answer" in found ? found.answer.position : undefined;
    return { id, isWaiting: found.status === "waiting", answeredAt };
  }
  const { callId } = answer;
  const found = outputRequests.findLast((one) => one.callId === callId && one.turn === turn);
  if (found === undefined) return undefined;
  const { requestId: id, status, answered } = found;
  return { id, isWaiting: status === "waiting", answeredAt: answered?.position };
}

/** Answers what still waits in a reply that a page has answered before it sends another message. */
async function answerWaiting(
  call: ChatCall,
  session: Session,
  view: SessionView,
  active: ActiveIds,
  reply: PostedMessage,
): Promise<void> {
  const turn = active.turnOf(reply.id);
  for (const answer of answersIn(reply)) {
    const asked = askedFor(view, answer, turn);
    if (asked?.isWaiting === true) await record(call, session, answer, asked.id);
  }
}

async function record(
  call: ChatCall,
  session: Session,
  answer: PostedAnswer,
  id: string,
): Promise<void> {
  switch (answer.kind) {
    case "approval": {
      const { approved, reason, content } = answer;
      const given = { ...defined({ reason, content }), ...call.by };
      await call.allow(approved ? "approve" : "deny");
      await (approved ? session.approve(id, given) : session.deny(id, given));
      return;
    }
    case "output":
      await call.allow("answer");
      await session.answerCall(id, { output: answer.output, ...call.by });
      return;
    case "error":
      await call.allow("answer");
      await session.answerCall(id, { error: answer.error, ...call.by });
  }
}

function nothingToDo(session: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `The last message posted to session ${session} is a reply without an answer to anything that waits. Post a new message of the user, or answer an approval or a call.`,
    { session, details: { option: "messages" } },
  );
}

function noInstructions(session: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `The last message posted to session ${session} is one of the system. A page gives no instructions: set \`instructions\` of the agent, and post a message of the user.`,
    { session, details: { option: "messages" } },
  );
}
