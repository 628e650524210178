/** One part of an imported reply as the events of the stream from which it could have come. */

import {
  jsonSchema,
  providerMetadataSchema,
  type JsonValue,
  type ProviderMetadata,
} from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";
import { fileContent, fileData, type ReplyPart } from "./plain-messages.ts";
import type { Transcript } from "./transcript.ts";

/** @param id - Of the block, where the part is one. */
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
      // What came of it is told with the call.
      return;
  }
}

interface Provided {
  readonly isError: boolean;
  readonly value: JsonValue;
}

/** A result of the provider's own tool, as its stream has it. */
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
