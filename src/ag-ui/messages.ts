/**
 * The messages of a session in AG-UI, made of its UI messages: each text, each thought, each call and each result is a
 * message of its own. Their ids follow from the reply and the place in it, so a stream and a list have the same. Nothing
 * loads the protocol's package, and the types of no entry lead here. Pure.
 */

import { questionSchema } from "../events/index.ts";
import type { SessionMessage } from "../ui/index.ts";
import type { Event, EventType, Interrupt, Message, RunFinishedEvent } from "@ag-ui/core";

export type Part = SessionMessage["parts"][number];
type CallPart = Extract<Part, { readonly toolCallId: string; readonly state: string }>;
type Events = readonly AgUiEvent[];

/** A message of a reply, and the events that write it. */
export interface Shown {
  readonly message: AgUiMessage;
  /** What may grow. */
  readonly text: string;
  readonly isOpen: boolean;
  readonly start: Events;
  readonly grow: (delta: string) => Events;
  readonly end: Events;
}

/** The messages of all UI messages. */
export function agUiMessages(messages: readonly SessionMessage[]): readonly AgUiMessage[] {
  return messages.flatMap(({ id, role, parts }) =>
    role === "user"
      ? userMessage(id, parts)
      : parts.flatMap((part, index) => shownPart(id, part, index).map(({ message }) => message)),
  );
}

const whole = { isOpen: false, text: "", grow: () => [], end: [] };

/** The messages of a part of a reply. */
export function shownPart(reply: string, part: Part, index: number): readonly Shown[] {
  // One that came in the middle of the turn.
  if (part.type === "steering-message")
    return [{ ...whole, message: userMessage(part.id, part.parts), start: [] }];
  if (part.type !== "text" && part.type !== "reasoning")
    return isCall(part) ? shownCall(callId(reply, part.toolCallId, index), part) : [];
  const messageId = `${reply}.${index}`;
  const about = { text: part.text, isOpen: part.state === "streaming" };
  if (part.type === "text")
    return [
      {
        ...about,
        message: { id: messageId, role: "assistant", content: part.text },
        start: [{ type: "TEXT_MESSAGE_START", messageId, role: "assistant" }],
        grow: (delta) => [{ type: "TEXT_MESSAGE_CONTENT", messageId, delta }],
        end: [{ type: "TEXT_MESSAGE_END", messageId }],
      },
    ];
  const role = "reasoning";
  const start = { type: "REASONING_START", messageId } as const;
  const end = { type: "REASONING_END", messageId } as const;
  return [
    {
      ...about,
      message: { id: messageId, role, content: part.text },
      start: [start, { type: "REASONING_MESSAGE_START", messageId, role }],
      grow: (delta) => [{ type: "REASONING_MESSAGE_CONTENT", messageId, delta }],
      end: [{ type: "REASONING_MESSAGE_END", messageId }, end],
    },
  ];
}

function shownCall(toolCallId: string, part: CallPart): readonly Shown[] {
  const text =
    part.state === "input-streaming" ? (part.rawInput ?? "") : JSON.stringify(part.input ?? {});
  const toolCallName = nameOf(part);
  const called = { name: toolCallName, arguments: text };
  const call: Shown = {
    message: {
      id: toolCallId,
      role: "assistant",
      toolCalls: [{ id: toolCallId, type: "function", function: called }],
    },
    text,
    isOpen: part.state === "input-streaming",
    start: [{ type: "TOOL_CALL_START", toolCallId, toolCallName }],
    grow: (delta) => [{ type: "TOOL_CALL_ARGS", toolCallId, delta }],
    end: [{ type: "TOOL_CALL_END", toolCallId }],
  };
  const outcome = outcomeOf(part);
  if (outcome === undefined) return [call];
  const messageId = `${toolCallId}.result`;
  const result = { role: "tool", toolCallId, ...outcome } as const;
  const start = [{ type: "TOOL_CALL_RESULT", messageId, ...result } as const];
  return [call, { ...whole, message: { id: messageId, ...result }, text: outcome.content, start }];
}

/** Providers use the ids of calls again, in another step or turn. */
export function callId(reply: string, toolCallId: string, index: number): string {
  return `${reply}.${index}.${toolCallId}`;
}

/** What the id of a message was made of; nothing for one that a session did not give. */
export function placeOf(id: string): { readonly reply?: string; readonly call?: string } {
  return /^(?<reply>reply-\d+)\.\d+(?:\.(?<call>.*))?$/s.exec(id)?.groups ?? {};
}

export function isCall(part: Part): part is CallPart {
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}

function nameOf(part: CallPart): string {
  return part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
}

const failed = { metadata: { error: true } };

function outcomeOf(part: CallPart): { readonly content: string } | undefined {
  const { approval } = part;
  if (part.state === "output-error") return { content: part.errorText, ...failed };
  if (part.state === "output-denied")
    return { content: approval?.reason ?? "The call was denied.", ...failed };
  if (part.state !== "output-available" || part.preliminary === true) return undefined;
  const { output } = part;
  return { content: typeof output === "string" ? output : JSON.stringify(output ?? null) };
}

function userMessage(id: string, parts: readonly Part[]): AgUiMessage {
  const said = parts.flatMap(userPart);
  const [only] = said;
  const content = said.length === 1 && only?.type === "text" ? only.text : said;
  return { id, role: "user", content };
}

function userPart(part: Part): readonly AgUiPart[] {
  if (part.type === "text") return [{ type: "text", text: part.text }];
  if (part.type !== "file") return [];
  const { mediaType: mimeType, url, providerReference = {} } = part;
  const kinds = ["image", "audio", "video"] as const;
  const type = kinds.find((kind) => mimeType.startsWith(`${kind}/`)) ?? "document";
  const [, value] = /^data:[^,]*;base64,(.*)$/s.exec(url) ?? [];
  if (value !== undefined) return [{ type, source: { type: "data", value, mimeType } }];
  const [kept] = Object.entries(providerReference);
  if (kept === undefined) return [{ type, source: { type: "url", value: url, mimeType } }];
  return [{ type, source: { type: "file", provider: kept[0], value: kept[1], mimeType } }];
}

const yesOrNo = {
  type: "object",
  properties: { approved: { type: "boolean" }, reason: { type: "string" } },
  required: ["approved"],
};

/** The question that a call waits for. */
export function interruptOf(toolCallId: string, part: CallPart): AgUiInterrupt | undefined {
  if (part.state !== "approval-requested") return undefined;
  const { id, descriptor, requestReason } = part.approval;
  const about = { id, toolCallId, message: requestReason ?? `May ${nameOf(part)} run?` };
  const { data: question } = questionSchema.safeParse(descriptor);
  if (question === undefined) return { ...about, reason: "approval", responseSchema: yesOrNo };
  const { kind: reason } = question;
  if (reason === "form")
    return { ...about, reason, message: question.message, responseSchema: question.schema };
  const message = reason === "address" ? question.message : `Log in at ${question.from}.`;
  return { ...about, reason, message, metadata: { url: question.url } };
}

// The types of AG-UI 1.0. Nothing loads the protocol's package, and the types of no entry lead here.

/** Its enumeration as texts, and read-only. */
type Plain<Value> = Value extends EventType
  ? `${Value}`
  : Value extends object
    ? { readonly [Key in keyof Value]: Plain<Value[Key]> }
    : Value;

export type AgUiEvent = Plain<Event>;
export type AgUiMessage = Plain<Message>;
type AgUiInterrupt = Plain<Interrupt>;
type AgUiPart = Plain<Exclude<Extract<Message, { role: "user" }>["content"], string>[number]>;
/** The run of a request. */
export type AgUiRun = Pick<Plain<RunFinishedEvent>, "threadId" | "runId">;
