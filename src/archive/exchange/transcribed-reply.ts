/** Records the parts of an imported reply, and the outcomes of its calls, as events. Pure. */

import type { ToolApprovalResponse, ToolCallPart, ToolResultPart } from "ai";
import {
  jsonSchema,
  providerMetadataSchema,
  type EventMap,
  type JsonValue,
  type ProviderMetadata,
} from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";
import { fileContent, fileData, type ReplyPart } from "./plain-messages.ts";
import type { Transcript } from "./transcript.ts";

/** @param id - The id of the block, for text and reasoning. */
export function recordPart(transcript: Transcript, part: ReplyPart, id: string): void {
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
export interface CallAnswers {
  readonly outputs: Map<string, ToolResultPart["output"]>;
  /** Approval requests by call id, with the answer if there was one. */
  readonly approvals: Map<string, ToolApprovalResponse | undefined>;
}

export function recordCallEnd(
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
