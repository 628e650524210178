/** Converts stream parts of the AI SDK into their recorded form. Used by both step sources. */

import type { TextStreamPart, ToolSet, LanguageModelUsage } from "ai";
import { z } from "zod";
import {
  eventSchemas,
  jsonObjectSchema,
  providerMetadataSchema,
  TurnlogError,
  type EventBody,
  type ProviderMetadata,
  finishReasonSchema,
  type JsonValue,
  type ResponseMetadata,
  type TokenUsage,
} from "../../events/index.ts";
import { toJson, toStoredError } from "../../shared/index.ts";
import type { PartType, RecordedPart, StepOutput } from "../../agent/index.ts";
import { disjointUsage } from "../../projections/index.ts";

type SdkPart = TextStreamPart<ToolSet>;

/** Parts of `streamText` that frame a step: the step's events replace them. */
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
 * A part of an unknown type is kept as `part.raw`. Deltas are frequent: they skip the schema, and their
 * types are literals, since a concatenated string is slower to look up.
 * @throws TurnlogError `TURN_FAILED` for a part with wrong fields
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
    // Models and later SDKs send parts that these types do not know.
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

function parsed(type: PartType, data: SdkFields): Output {
  const { providerMetadata: _, ...fields } = data;
  const schema: z.ZodType = eventSchemas[type];
  const valid = accepted(
    schema,
    `a part ${type.slice("part.".length)}`,
    withMetadata(fields, data),
  );
  // The schema was looked up by `type`, which the compiler cannot follow through the union.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return recorded({ type, data: valid } as RecordedPart);
}

interface SdkFields {
  readonly providerMetadata?: unknown;
  readonly [field: string]: unknown;
}

/** Provider metadata without entries that are not objects: those would make every later prompt invalid. */
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
function accepted<Data>(schema: z.ZodType<Data>, what: string, given: unknown): Data {
  const result = schema.safeParse(toJson(given));
  if (result.success) return result.data;
  throw new TurnlogError(
    "TURN_FAILED",
    `The model sent an invalid ${what}: ${z.prettifyError(result.error)}`,
    { cause: result.error },
  );
}

// Records the frame of a model call: warnings, response, finish reason, usage. Wrong types count as absent.

type End = Extract<StepOutput, { readonly kind: "end" }>;

interface CallEnd {
  readonly finishReason: unknown;
  readonly rawFinishReason: unknown;
  readonly usage: TokenUsage | undefined;
  readonly response: ResponseMetadata;
  readonly providerMetadata: unknown;
}

export function recordedEnd({ usage, response, providerMetadata, ...reasons }: CallEnd): End {
  return {
    kind: "end",
    ...finish(reasons),
    usage,
    response,
    providerMetadata: metadata(providerMetadata),
  };
}

/**
 * An unknown reason becomes `other`, and is kept as the raw reason. A model that names none, as mocks of older
 * SDKs do, has ended its reply: the SDK's clients always name one.
 */
function finish({
  finishReason,
  rawFinishReason,
}: Pick<CallEnd, "finishReason" | "rawFinishReason">): Pick<
  End,
  "finishReason" | "rawFinishReason"
> {
  const known = finishReasonSchema.safeParse(finishReason);
  const raw = rawFinishReason ?? (known.success ? undefined : finishReason) ?? undefined;
  return {
    finishReason: known.success ? known.data : finishReason === undefined ? "stop" : "other",
    rawFinishReason:
      raw === undefined || typeof raw === "string" ? raw : JSON.stringify(toJson(raw)),
  };
}

export function stepStart(warnings: unknown): RecordedPart & { readonly type: "part.start-step" } {
  const recorded: readonly JsonValue[] = Array.isArray(warnings) ? warnings.map(toJson) : [];
  return { type: "part.start-step", data: { warnings: recorded } };
}

export function responseMetadata(response: {
  readonly id?: unknown;
  readonly modelId?: unknown;
  readonly timestamp?: unknown;
}): ResponseMetadata {
  const { id, modelId, timestamp } = response;
  const time = timestamp instanceof Date ? timestamp.getTime() : Number.NaN;
  return {
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof modelId === "string" ? { modelId } : {}),
    ...(Number.isNaN(time) ? {} : { timestamp: time }),
  };
}

/** Disjoint figures with the provider's own in `raw`; undefined if it reported none. */
export function measuredUsage(usage: LanguageModelUsage): TokenUsage | undefined {
  const disjoint = disjointUsage(usage);
  if (disjoint === undefined || usage.raw === undefined) return disjoint;
  return { ...disjoint, raw: toJson(usage.raw) };
}
