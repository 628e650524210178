/**
 * Executes a posted chat: it sends, edits, runs a reply again, or answers calls. Repeating a request does nothing
 * twice and returns the same reply.
 */

import { TurnlogError, defined } from "../../events/index.ts";
import type { Session, StreamOptions } from "../../runtime/index.ts";
import type { SendOptions } from "../../commands/index.ts";
import type { SessionView } from "../../state/index.ts";
import type { Call } from "../route/route.ts";
import { messageInput } from "../sessions/posted-message.ts";
import {
  ActiveIds,
  answersIn,
  nextRevision,
  partsOf,
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

type ChatCall = Pick<Call, "runtime" | "session" | "request" | "by" | "open" | "allow" | "blob">;

/** Does what a posted chat asks for. @throws TurnlogError `STALE`, `MESSAGE_CONFLICT`, as `Session.send` */
export async function answerChat(call: ChatCall, body: PostedChat): Promise<Reply> {
  const last = body.messages.at(-1);
  const earlier = body.messages.slice(0, -1);
  if (last === undefined) throw nothingToDo(call.session);
  if (last.role === "system") throw noInstructions(call.session);
  if ((await call.runtime.log.revision(call.session)) === 0)
    return await firstMessage(call, body, earlier, last);
  const session = await call.open({ agent: body.agent });
  const view = await session.view();
  const active = new ActiveIds(view);
  active.assertAll(earlier);
  if (last.role !== "user") return await answered(call, session, view, active, last);
  const asked = earlier.at(-1);
  if (asked?.role === "assistant") await answerWaiting(call, session, view, active, asked);
  const isKnown = active.has(last) || (await wasAccepted(session, last.id));
  if (body.trigger === "regenerate-message" && isKnown)
    return await regenerated(call, session, active, body, last);
  return await sent(call, session, active, body, last, isKnown);
}

async function firstMessage(
  call: ChatCall,
  body: PostedChat,
  earlier: readonly PostedMessage[],
  last: PostedMessage,
): Promise<Reply> {
  const foreign = earlier.find(({ role }) => role !== "system") ?? last;
  if (foreign !== last || last.role !== "user") {
    throw new TurnlogError(
      "STALE",
      `Session ${call.session} is new and does not have message ${foreign.id}. Import a conversation, or post its first message alone.`,
      { session: call.session, details: { head: { turn: 0, position: 0 } } },
    );
  }
  const input = await messageInput(call, partsOf(call.session, last));
  const session = await call.open({ create: true, agent: body.agent });
  await session.send(input, { id: last.id, ...sendOptions(call, body) });
  return { session, stream: { messageId: last.id } };
}

function sendOptions({ by }: ChatCall, { delivery, basedOn }: PostedChat): SendOptions {
  return defined({ delivery, basedOn, ...by });
}

async function sent(
  call: ChatCall,
  session: Session,
  active: ActiveIds,
  body: PostedChat,
  last: PostedMessage,
  isKnown: boolean,
): Promise<Reply> {
  const input = await messageInput(call, partsOf(session.id, last));
  const options = sendOptions(call, body);
  const { messageId: edited } = body;
  const id = active.current(last.id) ?? last.id;
  const reply = (messageId: string): Reply => ({ session, stream: { messageId } });
  if (isKnown) {
    // A page that is behind another tab may show the message of a branch that was left.
    if (active.current(last.id) === undefined) throw active.stale(last.id);
    try {
      await session.send(input, { id });
      return reply(id);
    } catch (error) {
      if (!isConflict(error) || edited !== last.id) throw error;
    }
    await call.allow("rewind");
    const revision = nextRevision(id);
    await session.send(input, { ...options, id: revision, replaces: id });
    return reply(revision);
  }
  const replaced = edited === undefined ? undefined : active.current(edited);
  if (edited !== undefined && edited !== last.id && replaced === undefined)
    throw active.stale(edited);
  if (replaced !== undefined) await call.allow("rewind");
  const replaces = replaced === undefined ? {} : { replaces: replaced };
  await session.send(input, { ...options, id: last.id, ...replaces });
  return reply(last.id);
}

function isConflict(error: unknown): boolean {
  return TurnlogError.isInstance(error) && error.code === "MESSAGE_CONFLICT";
}

async function regenerated(
  call: ChatCall,
  session: Session,
  active: ActiveIds,
  { messageId: reply, basedOn }: PostedChat,
  last: PostedMessage,
): Promise<Reply> {
  const messageId = active.current(last.id);
  if (messageId === undefined) throw active.stale(last.id);
  const stream = { messageId };
  const isReply = reply !== undefined && reply.startsWith("reply-");
  // That reply was replaced before, by this request or in another tab.
  if (isReply && active.turnOf(reply) === undefined) return { session, stream };
  await call.allow("rewind");
  const key = call.request.headers.get("idempotency-key");
  await session.regenerate({
    messageId,
    ...(key === null || key === "" ? {} : { idempotencyKey: key }),
    ...(basedOn === undefined ? {} : { basedOn }),
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
      const { approved, reason } = answer;
      const given = { ...(reason === undefined ? {} : { reason }), ...call.by };
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
