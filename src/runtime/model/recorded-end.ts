/** Records the frame of a model call: warnings, response, finish reason, usage. Wrong types count as absent. */

import type { LanguageModelUsage } from "ai";
import {
  finishReasonSchema,
  type JsonValue,
  type ResponseMetadata,
  type TokenUsage,
} from "../../events/index.ts";
import { disjointUsage } from "../../projections/index.ts";
import { toJson } from "../../shared/index.ts";
import { metadata } from "./recorded-part.ts";
import type { RecordedPart, StepOutput } from "../../agent/index.ts";

type End = Extract<StepOutput, { readonly kind: "end" }>;

export interface CallEnd {
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
