/**
 * Brings what frames a model call into the form in which it is recorded: its warnings, its response, why
 * and with what figures it ended. Providers write these fields: what is not of its type is taken for
 * not told. Shared by both step sources.
 */

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

/** How a call ended, as its source tells it. */
export interface CallEnd {
  readonly finishReason: unknown;
  readonly rawFinishReason: unknown;
  /** As {@link measuredUsage} answers it. */
  readonly usage: TokenUsage | undefined;
  readonly response: ResponseMetadata;
  readonly providerMetadata: unknown;
}

export function recordedEnd({ usage, response, providerMetadata, ...told }: CallEnd): End {
  return {
    kind: "end",
    ...finish(told),
    usage,
    response,
    providerMetadata: metadata(providerMetadata),
  };
}

/** A reason that nobody knows is `other`, and is kept as the raw one. */
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
    finishReason: known.success ? known.data : "other",
    rawFinishReason:
      raw === undefined || typeof raw === "string" ? raw : JSON.stringify(toJson(raw)),
  };
}

export function stepStart(warnings: unknown): RecordedPart & { readonly type: "part.start-step" } {
  const told: readonly JsonValue[] = Array.isArray(warnings) ? warnings.map(toJson) : [];
  return { type: "part.start-step", data: { warnings: told } };
}

/** What the provider told of its response; what it did not tell is absent. */
export function responseMetadata(told: {
  readonly id?: unknown;
  readonly modelId?: unknown;
  readonly timestamp?: unknown;
}): ResponseMetadata {
  const { id, modelId, timestamp } = told;
  const time = timestamp instanceof Date ? timestamp.getTime() : Number.NaN;
  return {
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof modelId === "string" ? { modelId } : {}),
    ...(Number.isNaN(time) ? {} : { timestamp: time }),
  };
}

/** Disjoint figures with the provider's own beside them, or undefined when it told none. */
export function measuredUsage(usage: LanguageModelUsage): TokenUsage | undefined {
  const told = disjointUsage(usage);
  if (told === undefined || usage.raw === undefined) return told;
  return { ...told, raw: toJson(usage.raw) };
}
