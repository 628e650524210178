/**
 * Makes the messages of one step. A provider's output goes back to it unchanged, except:
 * - Reasoning needs something finished after it: OpenAI refuses a reasoning item without its follower,
 *   Anthropic an unsigned thinking block.
 * - Text of an unfinished block loses its metadata: its item id was never completed.
 * - Every call has exactly one result, in the order of the calls.
 * - After trimming of reasoning, the step loses its item ids: OpenAI refuses an item without its reasoning.
 * - Redacted reasoning, files and provider calls are left out, since only the provider knows their form;
 *   other redacted parts have placeholders.
 */

import type {
  AssistantContent,
  AssistantModelMessage,
  ToolContent,
  ToolModelMessage,
  ToolResultPart,
  ModelMessage,
} from "ai";
import {
  REDACTED,
  type JsonValue,
  type ProviderMetadata,
  isBlank,
  isReport,
} from "../events/index.ts";
import type { CallPart, HistoryPart, StepItem } from "./history-item.ts";
import { providerOutput, resultOutput } from "./shown-result.ts";

type AssistantPart = Exclude<AssistantContent, string>[number];

/** The messages of a step: an assistant message, then a tool message if it made calls. */
export function stepMessages(
  step: StepItem,
): readonly (AssistantModelMessage | ToolModelMessage)[] {
  const parts = sendableParts(step);
  const content = parts.flatMap(assistantPart);
  if (content.length === 0) return [];
  const assistant: AssistantModelMessage = { role: "assistant", content };
  const calls = parts.filter((part): part is CallPart => part.kind === "call");
  if (calls.length === 0) return [assistant];
  const results: ToolContent = calls.map((call) => ({
    type: "tool-result",
    toolCallId: call.callId,
    toolName: call.toolName,
    output: resultOutput(call),
    ...callOptions(call),
  }));
  return [assistant, { role: "tool", content: results }];
}

export function isTrimmed({ parts }: StepItem): boolean {
  return parts.some(isDropped);
}

function isDropped(part: HistoryPart): boolean {
  return "dropped" in part && isReasoning(part);
}

/**
 * Metadata of a call that providers also read from its result: OpenAI's `caller` and `parallelToolCall`,
 * Anthropic's `toolsetName`, Gemini's `signature`.
 */
const resultMarks: ReadonlySet<string> = new Set([
  "caller",
  "parallelToolCall",
  "toolsetName",
  "signature",
]);

/** Only calls with such metadata pass it on to their results: earlier prompts must stay the same. */
function callOptions({ providerMetadata }: CallPart): Pick<ToolResultPart, "providerOptions"> {
  if (providerMetadata === undefined) return {};
  const marks = Object.values(providerMetadata).flatMap((entry) => Object.keys(entry));
  return marks.some((mark) => resultMarks.has(mark)) ? { providerOptions: providerMetadata } : {};
}

export function sendableParts(step: StepItem): readonly HistoryPart[] {
  // The model gave no content and is called again: white space does not count as a reply that was cut off.
  if (step.error?.name === EMPTY_STOP) return [];
  const readable = step.parts.filter((part) => !isRedactedPart(part, step.parts));
  const whole = step.status === "finished";
  const kept = isTrimmed(step)
    ? readable.filter((part) => !isDropped(part)).map(withoutItemId)
    : readable;
  const parts = whole ? kept : kept.filter((part) => isAnswered(part, kept));
  return parts.filter((part, index) => !isReasoning(part) || isFollowed(parts.slice(index + 1)));
}

/** The same part if it has no item's id. */
export function withoutItemId(part: HistoryPart): HistoryPart {
  if (!("providerMetadata" in part) || part.providerMetadata === undefined) return part;
  const { providerMetadata, ...bare } = part;
  if (!Object.values(providerMetadata).some((own) => "itemId" in own)) return part;
  const left = Object.entries(providerMetadata).flatMap(([provider, own]) => {
    const { itemId: _, ...more } = { ...own };
    return Object.keys(more).length === 0 ? [] : [[provider, more] as const];
  });
  const metadata: ProviderMetadata = Object.fromEntries(left);
  return left.length === 0 ? bare : { ...bare, providerMetadata: metadata };
}

function isReasoning(part: HistoryPart): boolean {
  return part.kind === "reasoning" || part.kind === "reasoning-file";
}

function isRedactedPart(part: HistoryPart, parts: readonly HistoryPart[]): boolean {
  switch (part.kind) {
    case "reasoning":
      return part.text === REDACTED && part.providerMetadata === undefined;
    case "file":
    case "reasoning-file":
      return part.data === "";
    case "provider-result":
      return part.output === REDACTED;
    case "provider-call":
      return parts.some(
        (other) =>
          other.kind === "provider-result" &&
          other.callId === part.callId &&
          isRedactedPart(other, parts),
      );
    default:
      return false;
  }
}

/** Whether a finished part that is shown and is not reasoning comes later. */
function isFollowed(rest: readonly HistoryPart[]): boolean {
  return rest.some((part) => {
    if (isReasoning(part) || (part.kind === "text" && part.open)) return false;
    return assistantPart(part).length > 0;
  });
}

/** In a step that was cut off, a provider refuses its own call without a result. */
function isAnswered(part: HistoryPart, parts: readonly HistoryPart[]): boolean {
  return (
    part.kind !== "provider-call" ||
    parts.some((other) => other.kind === "provider-result" && other.callId === part.callId)
  );
}

/** A response part as a prompt part, by the AI SDK's rules; metadata becomes options. */
function assistantPart(part: HistoryPart): readonly AssistantPart[] {
  const options =
    "providerMetadata" in part && part.providerMetadata !== undefined
      ? { providerOptions: part.providerMetadata }
      : {};
  switch (part.kind) {
    case "text":
      if (part.text.trim() === "" && (part.open || part.providerMetadata === undefined)) return [];
      return [{ type: "text", text: part.text, ...(part.open ? {} : options) }];
    case "reasoning":
      return part.open ? [] : [{ type: "reasoning", text: part.text, ...options }];
    case "call":
    case "provider-call":
      return [
        {
          type: "tool-call",
          toolCallId: part.callId,
          toolName: part.toolName,
          input: callInput(part),
          ...(part.kind === "provider-call" && { providerExecuted: true }),
          ...options,
        },
      ];
    case "provider-result":
      return [
        {
          type: "tool-result",
          toolCallId: part.callId,
          toolName: part.toolName,
          output: providerOutput(part.output, part.isError),
          ...options,
        },
      ];
    case "file": {
      const { kind: type, data, mediaType, blob } = part;
      return [{ type, data, mediaType, ...(blob === undefined ? {} : { blob }), ...options }];
    }
    case "reasoning-file": {
      const { kind: type, data, mediaType, blob } = part;
      return [{ type, data, mediaType, ...(blob === undefined ? {} : { blob }), ...options }];
    }
    case "custom":
      return isCustomKind(part.customKind)
        ? [{ type: "custom", kind: part.customKind, ...options }]
        : [];
    case "source":
    case "error":
      return [];
  }
}

/** The input of an invalid call may be text that is not JSON: an empty object replaces it. */
function callInput(part: { readonly input: JsonValue; readonly invalid?: boolean }): JsonValue {
  return part.invalid === true && typeof part.input !== "object" ? {} : part.input;
}

export function isCustomKind(kind: string): kind is `${string}.${string}` {
  return kind.includes(".");
}

// A message of a prompt with its source.

export type PromptOrigin =
  | { readonly kind: "user"; readonly position: number; readonly id: string }
  /** The model's output in a step, or the results of its calls. */
  | { readonly kind: "step"; readonly position: number; readonly role: ModelMessage["role"] }
  /** The note that the model should conclude. */
  | { readonly kind: "note"; readonly position: number }
  /** The summary of the compaction at a position. */
  | { readonly kind: "summary"; readonly position: number }
  /** Items that a reduction sends as plain text, by the position of the first. */
  | { readonly kind: "as-text"; readonly position: number }
  /** The note after a step that was cut off. */
  | { readonly kind: "cut-off-note"; readonly position: number }
  /** A message that `prepareStep` added, by its `step.prepared` and its index there. */
  | { readonly kind: "prepared"; readonly position: number; readonly index: number };

export interface PromptEntry {
  readonly message: ModelMessage;
  readonly origin: PromptOrigin;
}

// Whether a finished step has content, as `saysSomething` decides from its events. Pure.

/** The `name` of the error of an attempt without content, after which the model is called again. */
export const EMPTY_STOP = "EmptyStopError";

/** Whether the model ended its step properly but without content. */
export function isSilent({ status, finishReason, parts }: StepItem): boolean {
  // Earlier releases recorded unknown reasons as `other`, and their turns ended with `stop`.
  const isWhole =
    finishReason === "stop" || finishReason === "tool-calls" || finishReason === "other";
  return status === "finished" && isWhole && saysNothing(parts);
}

export function saysNothing(parts: readonly HistoryPart[]): boolean {
  return parts.every((part) => {
    switch (part.kind) {
      case "text":
        return isBlank(part.text);
      case "reasoning":
      case "reasoning-file":
      case "source":
      case "error":
        return true;
      case "call":
      case "provider-call":
      case "provider-result":
      case "file":
        return false;
      case "custom":
        return isReport(part.customKind);
    }
  });
}
