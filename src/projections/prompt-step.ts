/**
 * One step as messages for the model. What the provider sent goes back to it unchanged; a step
 * that was cut off gives only what a provider accepts again:
 * - reasoning needs something finished after it (OpenAI refuses a reasoning item without its
 *   follower, Anthropic an unsigned thinking block);
 * - the text of an unfinished block loses its provider's metadata (an item id that was never
 *   completed cannot be referred to);
 * - every call has exactly one result, in the order of the calls.
 */

import type {
  AssistantContent,
  AssistantModelMessage,
  ToolContent,
  ToolModelMessage,
  ToolResultPart,
} from "ai";
import type { JsonValue } from "../events/index.ts";
import type { CallPart, HistoryPart, StepItem } from "./history-item.ts";
import { providerOutput, resultOutput } from "./prompt-result.ts";

type AssistantPart = Exclude<AssistantContent, string>[number];

/** The messages of a step: an assistant message, then a tool message if it made calls. */
export function stepMessages(
  step: StepItem,
): readonly (AssistantModelMessage | ToolModelMessage)[] {
  const parts = sendable(step);
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
    ...callerOptions(call),
  }));
  return [assistant, { role: "tool", content: results }];
}

/**
 * OpenAI asks to be told again which of its programs has made a call: that is in the call's metadata. Of
 * all that results could be marked with, no provider reads more; prompts that were sent stay what they were.
 */
function callerOptions({ providerMetadata }: CallPart): Pick<ToolResultPart, "providerOptions"> {
  if (providerMetadata === undefined) return {};
  const isByProgram = Object.values(providerMetadata).some((told) => "caller" in told);
  return isByProgram ? { providerOptions: providerMetadata } : {};
}

function sendable(step: StepItem): readonly HistoryPart[] {
  const whole = step.status === "finished";
  const parts = whole ? step.parts : step.parts.filter((part) => isAnswered(part, step.parts));
  return parts.filter((part, index) => !isReasoning(part) || isFollowed(parts.slice(index + 1)));
}

function isReasoning(part: HistoryPart): boolean {
  return part.kind === "reasoning" || part.kind === "reasoning-file";
}

/** Reasoning counts as followed by anything finished that the model is shown, other than reasoning. */
function isFollowed(rest: readonly HistoryPart[]): boolean {
  return rest.some((part) => {
    if (isReasoning(part) || (part.kind === "text" && part.open)) return false;
    return assistantPart(part).length > 0;
  });
}

/** In a step that was cut off, a provider's own call without its result is no longer acceptable. */
function isAnswered(part: HistoryPart, parts: readonly HistoryPart[]): boolean {
  return (
    part.kind !== "provider-call" ||
    parts.some((other) => other.kind === "provider-result" && other.callId === part.callId)
  );
}

/** The AI SDK's own rules of what a response part becomes in a prompt, with its metadata as options. */
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
      return [
        {
          type: "tool-call",
          toolCallId: part.callId,
          toolName: part.toolName,
          input: callInput(part),
          ...options,
        },
      ];
    case "provider-call":
      return [
        {
          type: "tool-call",
          toolCallId: part.callId,
          toolName: part.toolName,
          input: callInput(part),
          providerExecuted: true,
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
    case "file":
      return [{ type: "file", data: part.data, mediaType: part.mediaType, ...options }];
    case "reasoning-file":
      return [{ type: "reasoning-file", data: part.data, mediaType: part.mediaType, ...options }];
    case "custom":
      return isCustomKind(part.customKind)
        ? [{ type: "custom", kind: part.customKind, ...options }]
        : [];
    case "source":
    case "error":
      return [];
  }
}

/** The input of an invalid call may be text that is not JSON: the model is given an empty object. */
function callInput(part: { readonly input: JsonValue; readonly invalid?: boolean }): JsonValue {
  return part.invalid === true && typeof part.input !== "object" ? {} : part.input;
}

function isCustomKind(kind: string): kind is `${string}.${string}` {
  return kind.includes(".");
}
