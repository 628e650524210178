/** Brings stream parts of the AI SDK into the form in which they are recorded. Shared by both step sources. */

import type { TextStreamPart, ToolSet } from "ai";
import { z } from "zod";
import {
  eventSchemas,
  jsonObjectSchema,
  providerMetadataSchema,
  TurnlogError,
  type EventBody,
  type ProviderMetadata,
} from "../../events/index.ts";
import { toJson, toStoredError } from "../../shared/index.ts";
import type { PartType, RecordedPart, StepOutput } from "../../agent/index.ts";

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
 * The recorded form of a content part; one of a type that nobody knows is kept as it came. Deltas come
 * by the thousand, so they take the short way, and their types are written out: one put together is a
 * new string, which each look-up by it has to find.
 * @throws TurnlogError `TURN_FAILED` for a part that is not what its type says
 */
export function recordedPart(part: ContentPart): Output {
  switch (part.type) {
    case "text-delta":
      return recorded({ type: "part.text-delta", data: blockDelta(part) });
    case "reasoning-delta":
      return recorded({ type: "part.reasoning-delta", data: blockDelta(part) });
    case "tool-input-delta": {
      const { id, delta, providerMetadata } = part;
      if (!areTexts(id, delta)) return parsed("part.tool-input-delta", { id, delta });
      return recorded({
        type: "part.tool-input-delta",
        data: providerMetadata === undefined ? { id, delta } : withMetadata({ id, delta }, part),
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
    // Models say what the types of the SDK do not know, and so may a later SDK.
    default:
      return recorded({ type: "part.raw", data: { rawValue: toJson(part) } });
  }
}

type BlockDelta = Extract<ContentPart, { readonly type: "text-delta" | "reasoning-delta" }>;

function blockDelta(part: BlockDelta): EventBody<"part.text-delta">["data"] {
  const { id, text, providerMetadata } = part;
  if (!areTexts(id, text)) return accepted(eventSchemas["part.text-delta"], "a delta", part);
  return providerMetadata === undefined ? { id, text } : withMetadata({ id, text }, part);
}

function withMetadata<Data extends object>(
  data: Data,
  part: { readonly providerMetadata?: unknown },
): Data & { readonly providerMetadata?: ProviderMetadata } {
  const known = metadata(part.providerMetadata);
  return known === undefined ? data : { ...data, providerMetadata: known };
}

function areTexts(one: unknown, other: unknown): boolean {
  return typeof one === "string" && typeof other === "string";
}

function recorded(part: RecordedPart): Output {
  return { kind: "part", part };
}

/** The wire is a border: whatever the SDK handed over is brought into JSON and parsed. */
function parsed(type: PartType, data: SdkFields): Output {
  const { providerMetadata: _, ...fields } = data;
  const schema: z.ZodType = eventSchemas[type];
  const said = accepted(schema, `a part ${type.slice("part.".length)}`, withMetadata(fields, data));
  // The schema was looked up by `type`, which the compiler cannot follow through the union.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return recorded({ type, data: said } as RecordedPart);
}

/** The fields of a part, which may all be what its type does not say. */
interface SdkFields {
  readonly providerMetadata?: unknown;
  readonly [field: string]: unknown;
}

/**
 * What a provider wants back, undefined where it is nothing. No prompt may have an entry that is no
 * object: it would be refused from then on.
 */
export function metadata(value: unknown): ProviderMetadata | undefined {
  if (value === undefined || value === null) return undefined;
  const all = accepted(jsonObjectSchema, "metadata", value);
  return providerMetadataSchema.parse(
    Object.fromEntries(
      Object.entries(all).filter(([, own]) => jsonObjectSchema.safeParse(own).success),
    ),
  );
}

/** @throws TurnlogError `TURN_FAILED` */
function accepted<Said>(schema: z.ZodType<Said>, what: string, given: unknown): Said {
  const said = schema.safeParse(toJson(given));
  if (said.success) return said.data;
  throw new TurnlogError(
    "TURN_FAILED",
    `The model sent ${what} that is none: ${z.prettifyError(said.error)}`,
    { cause: said.error },
  );
}
