/** Model messages as the events of a session that could have run here. Pure. */

import type { ModelMessage, ToolContent } from "ai";
import { TurnlogError, type SessionEvent, type StoredUserContent } from "../../events/index.ts";
import { saysSomething, toStoredContent } from "../../media/index.ts";
import type { DroppedContent } from "./dropped-content.ts";
import { fileData, type ReplyPart } from "./plain-messages.ts";
import { recordCallEnd, type CallAnswers } from "./transcribed-calls.ts";
import { recordPart } from "./transcribed-parts.ts";
import { Transcript } from "./transcript.ts";

/** What messages become: the events of a session, and what only its agent can hold. */
export interface MessageTranscript {
  readonly events: readonly SessionEvent[];
  /** The texts of all system messages. */
  readonly instructions: string;
  /** What neither holds. */
  readonly dropped: readonly DroppedContent[];
}

/** The events, and the texts of the system messages. */
type Transcribed = Omit<MessageTranscript, "dropped">;

/** What stands before a talk that began with the model's words: a prompt begins with a user's. */
const OPENING_NOTE = "[The talk began with the reply below.]";

type OwnCall = Extract<ReplyPart, { readonly type: "tool-call" }>;

/** A reply with all that came of its calls. Replies in a row are one: no provider tells them apart. */
interface Reply {
  readonly role: "assistant";
  readonly parts: ReplyPart[];
  readonly results: ToolContent[number][];
}

interface UserMessage {
  readonly role: "user";
  readonly content: StoredUserContent;
  readonly id: string | undefined;
}

type Said = UserMessage | Reply;

/**
 * @param userIds - The ids of the user messages, in their order. Default: new ones.
 * @throws TurnlogError `INVALID_INPUT`
 */
export function transcribe(
  messages: readonly ModelMessage[],
  at: number,
  userIds: readonly (string | undefined)[] = [],
): Transcribed {
  const said = inOrder(messages, userIds);
  const calls = said.flatMap((one) => (one.role === "assistant" ? ownCalls(one) : []));
  const tools = [...new Set(calls.map(({ toolName }) => toolName))];
  const transcript = new Transcript(at, tools, userIds);
  for (const one of said) {
    if (one.role === "user") {
      transcript.say(one.content, one.id);
      continue;
    }
    if (!transcript.isReplyDue) transcript.say(OPENING_NOTE);
    recordReply(transcript, one);
  }
  transcript.endTurn();
  const instructions = messages.flatMap(({ role, content }) =>
    role === "system" ? [content] : [],
  );
  return { events: transcript.events, instructions: instructions.join("\n\n") };
}

/**
 * Results go to the reply that made their calls, also where a user spoke before they came: a prompt has
 * the results of a reply right behind it.
 */
function inOrder(
  messages: readonly ModelMessage[],
  userIds: readonly (string | undefined)[],
): readonly Said[] {
  const said: Said[] = [];
  let users = 0;
  for (const message of messages) {
    const last = said.at(-1);
    switch (message.role) {
      case "system":
        break;
      case "user": {
        const content = userContent(message.content);
        const id = userIds[users++];
        if (content !== undefined) said.push({ role: "user", content, id });
        break;
      }
      case "assistant": {
        const { content } = message;
        const parts: ReplyPart[] =
          typeof content === "string" ? [{ type: "text", text: content }] : content;
        if (last?.role === "assistant" && last.results.length === 0) last.parts.push(...parts);
        else said.push({ role: "assistant", parts: [...parts], results: [] });
        break;
      }
      case "tool":
        for (const result of message.content) replyOf(result, said).results.push(result);
    }
  }
  return said;
}

/** The reply that a result belongs to: the newest that still waits for it, else the newest of all. */
function replyOf(result: ToolContent[number], said: readonly Said[]): Reply {
  const isReply = (one: Said): one is Reply => one.role === "assistant";
  const waiting = said.findLast((one): one is Reply => isReply(one) && isAwaited(result, one));
  const reply = waiting ?? said.findLast(isReply);
  if (reply === undefined) throw invalid("tool results come before any call");
  return reply;
}

function isAwaited(result: ToolContent[number], reply: Reply): boolean {
  if (result.type === "tool-approval-response") {
    return reply.parts.some(
      (part) => part.type === "tool-approval-request" && part.approvalId === result.approvalId,
    );
  }
  const { toolCallId } = result;
  return (
    ownCalls(reply).some((call) => call.toolCallId === toolCallId) &&
    !reply.results.some((one) => one.type === "tool-result" && one.toolCallId === toolCallId)
  );
}

/** Undefined where it says nothing: no provider would have taken it. */
function userContent(
  content: Extract<ModelMessage, { readonly role: "user" }>["content"],
): StoredUserContent | undefined {
  const input =
    typeof content === "string"
      ? content
      : content.map((part) =>
          part.type === "file" ? { ...part, data: fileData(part.data) } : part,
        );
  return saysSomething(input) ? toStoredContent("to import", input) : undefined;
}

function recordReply(transcript: Transcript, reply: Reply): void {
  const calls = ownCalls(reply);
  const ids = calls.map(({ toolCallId }) => toolCallId);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw invalid(`call ${twice} is there twice in one reply`);
  const answers = answersOf(reply, ids);
  transcript.reply(() => {
    for (const [index, part] of reply.parts.entries())
      recordPart(transcript, part, `part-${index}`);
  }, calls.length > 0);
  for (const call of calls) recordCallEnd(transcript, call, answers);
}

/** Calls that are not the provider's own to run. */
function ownCalls({ parts }: Reply): readonly OwnCall[] {
  return parts.flatMap((part) =>
    part.type === "tool-call" && part.providerExecuted !== true ? [part] : [],
  );
}

function answersOf({ parts, results }: Reply, ids: readonly string[]): CallAnswers {
  const outputs: CallAnswers["outputs"] = new Map();
  for (const part of results) {
    if (part.type !== "tool-result") continue;
    const { toolCallId: id } = part;
    if (!ids.includes(id)) throw invalid(`the result ${id} has no call before it`);
    if (outputs.has(id)) throw invalid(`call ${id} has two results`);
    outputs.set(id, part.output);
  }
  const approvals: CallAnswers["approvals"] = new Map();
  for (const part of parts) {
    if (part.type !== "tool-approval-request") continue;
    const answer = results.find(
      (one) => one.type === "tool-approval-response" && one.approvalId === part.approvalId,
    );
    approvals.set(part.toolCallId, answer?.type === "tool-approval-response" ? answer : undefined);
  }
  return { outputs, approvals };
}

function invalid(why: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", `The messages cannot be imported: ${why}.`);
}
