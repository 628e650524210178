/** Brings stream parts of the AI SDK into the form in which they are recorded. Shared by both step sources. */

import type {
  LanguageModelUsage,
  ProviderMetadata as SdkMetadata,
  TextStreamPart,
  ToolSet,
} from "ai";
import {
  eventSchemas,
  providerMetadataSchema,
  type EventBody,
  type ProviderMetadata,
  type TokenUsage,
} from "../events/index.ts";
import { disjointUsage } from "../projections/index.ts";
import { toJson, toStoredError } from "./json-value.ts";
import type { PartType, RecordedPart, StepOutput } from "./step-source.ts";

type SdkPart = TextStreamPart<ToolSet>;

/** The parts of `streamText` that frame a step; the step's own events say the same. */
type Framing =
  | "start"
  | "start-step"
  | "finish-step"
  | "finish"
  | "abort"
  | "ping"
  | "steering-message"
  | "tool-output-denied"
  | "tool-approval-response";

export type ContentPart = Exclude<SdkPart, { readonly type: Framing }>;

type Output = Extract<StepOutput, { readonly kind: "part" }>;

/**
 * The recorded form of a content part. Deltas come by the thousand, so they take the short way, and
 * their types are written out: one put together is a new string, which each look-up by it has to find.
 */
export function recordedPart(part: ContentPart): Output {
  switch (part.type) {
    case "text-delta":
      return recorded({ type: "part.text-delta", data: blockDelta(part) });
    case "reasoning-delta":
      return recorded({ type: "part.reasoning-delta", data: blockDelta(part) });
    case "tool-input-delta": {
      const { id, delta, providerMetadata } = part;
      return recorded({
        type: "part.tool-input-delta",
        data:
          providerMetadata === undefined
            ? { id, delta }
            : { id, delta, providerMetadata: metadata(providerMetadata) },
      });
    }
    case "error":
      return {
        ...recorded({ type: "part.error", data: { error: toStoredError(part.error) } }),
        error: part.error,
      };
    case "file":
    case "reasoning-file":
      return parsed(`part.${part.type}`, {
        data: part.file.base64,
        mediaType: part.file.mediaType,
        providerMetadata: part.providerMetadata,
      });
    case "tool-call": {
      const { type: _, error, ...call } = part;
      return {
        ...parsed("part.tool-call", {
          ...call,
          error: error === undefined ? undefined : toStoredError(error),
        }),
        parsedInput: { callId: part.toolCallId, input: part.input },
      };
    }
    case "tool-error": {
      const { type: _, error, ...call } = part;
      return parsed("part.tool-error", {
        ...call,
        error: error instanceof Error ? toStoredError(error) : (toJson(error) ?? null),
      });
    }
    case "tool-approval-request":
      return parsed("part.tool-approval-request", {
        approvalId: part.approvalId,
        toolCallId: part.toolCall.toolCallId,
        reason: part.reason,
        signature: part.signature,
        isAutomatic: part.isAutomatic,
      });
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
    case "tool-input-start":
    case "tool-input-end":
    case "tool-result":
    case "source":
    case "custom":
    case "raw": {
      const { type, ...data } = part;
      return parsed(`part.${type}`, data);
    }
  }
}

type BlockDelta = Extract<ContentPart, { readonly type: "text-delta" | "reasoning-delta" }>;

function blockDelta({
  id,
  text,
  providerMetadata,
}: BlockDelta): EventBody<"part.text-delta">["data"] {
  return providerMetadata === undefined
    ? { id, text }
    : { id, text, providerMetadata: metadata(providerMetadata) };
}

function recorded(part: RecordedPart): Output {
  return { kind: "part", part };
}

/** The wire is a border: whatever the SDK handed over is brought into JSON and parsed. */
function parsed(type: PartType, data: unknown): Output {
  const schema = eventSchemas[type];
  // The schema was looked up by `type`, which the compiler cannot follow through the union.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return recorded({ type, data: schema.parse(toJson(data)) } as RecordedPart);
}

export function metadata(value: SdkMetadata): ProviderMetadata {
  return providerMetadataSchema.parse(toJson(value));
}

/** Disjoint figures with the provider's own beside them, or undefined when it told none. */
export function measuredUsage(usage: LanguageModelUsage): TokenUsage | undefined {
  const told = disjointUsage(usage);
  if (told === undefined || usage.raw === undefined) return told;
  return { ...told, raw: toJson(usage.raw) };
}
