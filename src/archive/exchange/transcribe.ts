/** Converts model messages to the events of a session. Pure. */

import type {
  ModelMessage,
  ToolContent,
  ToolApprovalResponse,
  ToolCallPart,
  ToolResultPart,
  AssistantContent,
} from "ai";
import {
  TurnlogError,
  type SessionEvent,
  type StoredUserContent,
  jsonSchema,
  providerMetadataSchema,
  type EventMap,
  type JsonValue,
  type ProviderMetadata,
  uploadedFile,
  MOST_LEVELS,
  type FileReference,
} from "../../events/index.ts";
import { saysSomething, toStoredContent } from "../../media/index.ts";
import type { DroppedContent } from "./dropped-content.ts";
import { Transcript, type Reported } from "./transcript.ts";
import { toJson } from "../../shared/index.ts";
import { convertUint8ArrayToBase64 } from "@ai-sdk/provider-utils";

export interface MessageTranscript {
  readonly events: readonly SessionEvent[];
  readonly instructions: string;
  readonly dropped: readonly DroppedContent[];
}

type Transcribed = Omit<MessageTranscript, "dropped">;

/** The user message before a conversation that begins with a reply: a prompt begins with a user message. */
const OPENING_NOTE = "[The talk began with the reply below.]";

type OwnCall = Extract<ReplyPart, { readonly type: "tool-call" }>;

/** A reply with the results of its calls. Consecutive replies are one: providers do not distinguish them. */
interface Reply {
  readonly role: "assistant";
  readonly parts: ReplyPart[];
  readonly results: ToolContent[number][];
  reported: Reported | undefined;
}

interface UserMessage {
  readonly role: "user";
  readonly content: StoredUserContent;
  readonly id: string | undefined;
}

type Message = UserMessage | Reply;

interface Known {
  /** The ids of the user messages in order. Default: new ids. */
  readonly userIds?: readonly (string | undefined)[];
  /** As the AI SDK names it. Default: any. */
  readonly provider?: string;
  /** What providers told about their replies, by the index of the message. */
  readonly reported?: ReadonlyMap<number, Reported>;
}

/** @throws TurnlogError `INVALID_INPUT` */
export function transcribe(
  messages: readonly ModelMessage[],
  time: number,
  { userIds = [], provider = "imported", reported = new Map() }: Known = {},
): Transcribed {
  const ordered = inOrder(messages, userIds, reported);
  const calls = ordered.flatMap((one) => (one.role === "assistant" ? ownCalls(one) : []));
  const tools = [...new Set(calls.map(({ toolName }) => toolName))];
  const times = timesOf(ordered);
  const transcript = new Transcript(times[0] ?? time, tools, provider, userIds);
  for (const [index, message] of ordered.entries()) {
    transcript.moveOn(times[index] ?? 0);
    if (message.role === "user") {
      transcript.userMessage(message.content, message.id);
      continue;
    }
    if (!transcript.isReplyDue) transcript.userMessage(OPENING_NOTE);
    recordReply(transcript, message);
  }
  transcript.endTurn();
  const instructions = messages.flatMap(({ role, content }) =>
    role === "system" ? [content] : [],
  );
  return { events: transcript.events, instructions: instructions.join("\n\n") };
}

/** Of each message, the time of the next reply whose time is known. */
function timesOf(messages: readonly Message[]): readonly (number | undefined)[] {
  let next: number | undefined;
  const times = messages.toReversed().map((message) => {
    next = (message.role === "assistant" ? message.reported?.time : undefined) ?? next;
    return next;
  });
  return times.toReversed();
}

/** Moves results to the reply that made their calls, as a prompt needs them, also across a user message. */
function inOrder(
  messages: readonly ModelMessage[],
  userIds: readonly (string | undefined)[],
  reported: ReadonlyMap<number, Reported>,
): readonly Message[] {
  const ordered: Message[] = [];
  let users = 0;
  for (const [index, message] of messages.entries()) {
    const last = ordered.at(-1);
    switch (message.role) {
      case "system":
        break;
      case "user": {
        const content = userContent(message.content);
        const id = userIds[users++];
        if (content !== undefined) ordered.push({ role: "user", content, id });
        break;
      }
      case "assistant": {
        const { content } = message;
        const parts: ReplyPart[] =
          typeof content === "string" ? [{ type: "text", text: content }] : content;
        const known = reported.get(index);
        if (last?.role === "assistant" && last.results.length === 0) {
          last.parts.push(...parts);
          last.reported = known ?? last.reported;
        } else ordered.push({ role: "assistant", parts: [...parts], results: [], reported: known });
        break;
      }
      case "tool":
        for (const result of message.content) replyOf(result, ordered).results.push(result);
    }
  }
  return ordered;
}

/** The reply that a result belongs to: the newest that waits for it, else the newest. */
function replyOf(result: ToolContent[number], messages: readonly Message[]): Reply {
  const isReply = (one: Message): one is Reply => one.role === "assistant";
  const waiting = messages.findLast((one): one is Reply => isReply(one) && isAwaited(result, one));
  const reply = waiting ?? messages.findLast(isReply);
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

/** Undefined for empty content, which no provider accepts. */
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
  const provided = reply.parts.flatMap((part) =>
    part.type === "tool-call" && part.providerExecuted === true ? [part.toolCallId] : [],
  );
  const twice = ids.find((id, index) => ids.indexOf(id) !== index || provided.includes(id));
  if (twice !== undefined) throw invalid(`call ${twice} occurs twice in one reply`);
  const answers = answersOf(reply, ids);
  transcript.reply(
    () => {
      for (const [index, part] of reply.parts.entries())
        recordPart(transcript, part, `part-${index}`);
    },
    calls.length > 0,
    reply.reported,
  );
  for (const call of calls) recordCallEnd(transcript, call, answers);
}

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

// Records the parts of an imported reply, and the outcomes of its calls, as events. Pure.

/** @param id - The id of the block, for text and reasoning. */
function recordPart(transcript: Transcript, part: ReplyPart, id: string): void {
  const metadata = metadataOf(part);
  switch (part.type) {
    case "text":
    case "reasoning":
      transcript.record({ type: `part.${part.type}-start`, data: { id } });
      transcript.record({ type: `part.${part.type}-delta`, data: { id, text: part.text } });
      transcript.record({ type: `part.${part.type}-end`, data: { id, ...metadata } });
      return;
    case "tool-call": {
      const { toolCallId, toolName, providerExecuted } = part;
      const call = { toolCallId, toolName, input: toJson(part.input), ...metadata };
      const whose = providerExecuted === true ? { providerExecuted } : {};
      transcript.record({ type: "part.tool-call", data: { ...call, ...whose } });
      return;
    }
    case "tool-result": {
      const { toolCallId, toolName } = part;
      const result = { toolCallId, toolName, providerExecuted: true, ...metadata };
      const { isError, value } = valueOf(part.output);
      if (isError)
        transcript.record({ type: "part.tool-error", data: { ...result, error: value } });
      else transcript.record({ type: "part.tool-result", data: { ...result, output: value } });
      return;
    }
    case "file": {
      const data = { data: fileData(part.data), mediaType: part.mediaType, ...metadata };
      transcript.record({ type: "part.file", data });
      return;
    }
    case "reasoning-file": {
      const data = { data: fileContent(part.data), mediaType: part.mediaType, ...metadata };
      transcript.record({ type: "part.reasoning-file", data });
      return;
    }
    case "custom":
      transcript.record({ type: "part.custom", data: { kind: part.kind, ...metadata } });
      return;
    case "tool-approval-request":
      return;
  }
}

interface Provided {
  readonly isError: boolean;
  readonly value: JsonValue;
}

function valueOf(output: Extract<ReplyPart, { readonly type: "tool-result" }>["output"]): Provided {
  switch (output.type) {
    case "text":
    case "json":
    case "content":
      return { isError: false, value: jsonSchema.parse(output.value) };
    case "error-text":
    case "error-json":
      return { isError: true, value: jsonSchema.parse(output.value) };
    case "execution-denied":
      return { isError: true, value: output.reason ?? "The execution was denied." };
  }
}

function metadataOf(part: ReplyPart): { readonly providerMetadata?: ProviderMetadata } {
  if (!("providerOptions" in part) || part.providerOptions === undefined) return {};
  return { providerMetadata: providerMetadataSchema.parse(part.providerOptions) };
}

/** Results and approvals of the calls of one reply. */
interface CallAnswers {
  readonly outputs: Map<string, ToolResultPart["output"]>;
  /** Approval requests by call id, with the answer if there was one. */
  readonly approvals: Map<string, ToolApprovalResponse | undefined>;
}

function recordCallEnd(
  transcript: Transcript,
  { toolCallId: callId, toolName }: ToolCallPart,
  { outputs, approvals }: CallAnswers,
): void {
  const { step } = transcript;
  const key = { step, callId };
  const output = outputs.get(callId);
  const approval = approvals.get(callId);
  const start = (): void => {
    const effectId = `imported/${step}/${callId}`;
    transcript.record({ type: "tool.started", data: { ...key, toolName, attempt: 1, effectId } });
  };
  if (output === undefined) {
    if (approval?.approved === false) {
      transcript.record({ type: "tool.denied", data: { ...key, ...reasonOf(approval) } });
    } else if (approvals.has(callId)) {
      transcript.record({ type: "tool.skipped", data: { ...key, reason: "interrupted" } });
    } else {
      // The tool may have run: `unknown` tells the model to check before it repeats the call.
      start();
      transcript.record({ type: "tool.unknown", data: { ...key, reason: "recovered" } });
    }
    return;
  }
  switch (output.type) {
    case "execution-denied":
      transcript.record({ type: "tool.denied", data: { ...key, ...reasonOf(output) } });
      return;
    case "error-text":
    case "error-json": {
      const message =
        typeof output.value === "string" ? output.value : JSON.stringify(output.value);
      start();
      transcript.record({
        type: "tool.failed",
        data: { ...key, error: { name: "Error", message } },
      });
      return;
    }
    case "text":
    case "json":
    case "content":
      start();
      transcript.record({ type: "tool.succeeded", data: { ...key, ...answerOf(output) } });
  }
}

type Answer = Pick<EventMap["tool.succeeded"], "output" | "modelOutput">;

/** Stores `modelOutput` only if it differs from the plain output. */
function answerOf(
  given: Extract<ToolResultPart["output"], { readonly type: "text" | "json" | "content" }>,
): Answer {
  const output = jsonSchema.parse(given.value);
  const plain = typeof output === "string" ? "text" : "json";
  const isPlain = given.type === plain && given.providerOptions === undefined;
  return isPlain ? { output } : { output, modelOutput: given };
}

function reasonOf({ reason }: { readonly reason?: string }): { readonly reason?: string } {
  return reason === undefined ? {} : { reason };
}

// Converts messages of the AI SDK to plain JSON: binary data to base64, URLs to text, files to one form.

type ReplyPart = Exclude<AssistantContent, string>[number];

/** @throws TurnlogError `INVALID_INPUT` for a value that is nested too deeply or contains itself */
export function withPlainData(value: unknown, levels: number = MOST_LEVELS): unknown {
  if (value instanceof URL) return value.href;
  if (value instanceof ArrayBuffer) return convertUint8ArrayToBase64(new Uint8Array(value));
  if (value instanceof Uint8Array) return convertUint8ArrayToBase64(value);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (levels === 0) {
    const what = `A value in the messages is nested more than ${MOST_LEVELS} levels deep`;
    throw new TurnlogError("INVALID_INPUT", what);
  }
  const plain = (inner: unknown): unknown => withPlainData(inner, levels - 1);
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

/** Base64, a URL, or the reference of a provider's file. @throws TurnlogError `INVALID_INPUT` */
function fileData(data: unknown): string | FileReference {
  const elsewhere = uploadedFile({ data });
  if (elsewhere === undefined) return fileContent(data);
  return { type: "reference", reference: elsewhere.reference };
}

/** Base64 or a URL. @throws TurnlogError `INVALID_INPUT` */
function fileContent(data: unknown): string {
  if (typeof data === "string") return data;
  if (typeof data === "object" && data !== null && "type" in data) {
    if ("data" in data && typeof data.data === "string") return data.data;
    if ("url" in data && typeof data.url === "string") return data.url;
    if ("text" in data && typeof data.text === "string") {
      return convertUint8ArrayToBase64(new TextEncoder().encode(data.text));
    }
  }
  throw new TurnlogError(
    "INVALID_INPUT",
    `A file in the messages has neither content nor a URL: ${JSON.stringify(toJson(data)).slice(0, 200)}.`,
  );
}
