/** `step.*`: one model call each, counted over the whole session from 1. */

import { z } from "zod";
import type { FamilySchemas } from "./family.ts";
import {
  jsonSchema,
  providerMetadataSchema,
  storedErrorSchema,
  type JsonValue,
  type ProviderMetadata,
  type StoredError,
} from "./json.ts";
import { modelNameSchema, type ModelName } from "./session-events.ts";

/**
 * Tokens of one model call. The parts are disjoint: uncached + cache read + cache write = input,
 * text + reasoning = output. A part that the provider did not tell is absent.
 */
export interface TokenUsage {
  /** Whether the provider billed these figures or we estimated them. */
  readonly basis: "measured" | "estimated";
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly uncachedInputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly textTokens?: number;
  readonly reasoningTokens?: number;
  /** The provider's own figures, as they came. */
  readonly raw?: JsonValue;
}

/** What a provider said of its response. */
export interface ResponseMetadata {
  readonly id?: string;
  readonly modelId?: string;
  /** Epoch milliseconds. */
  readonly timestamp?: number;
}

/** Why the model stopped, as the AI SDK names it. */
export type FinishReason =
  | "stop"
  | "length"
  | "content-filter"
  | "tool-calls"
  | "error"
  | "other"
  | "interrupted";

/** The size of a prompt before it is sent, in tokens, and how that figure came about. */
export interface PromptEstimate {
  readonly tokens: number;
  /**
   * `anchored`: what the provider billed or counted last, and an estimate of what changed since;
   * `counted`: this very prompt was counted.
   */
  readonly basis: "length" | "anchored" | "counted";
  /** Tokens of text that were guessed, before `factor`: what a later calibration learns from. */
  readonly guessedTokens?: number;
  /** What `guessedTokens` was multiplied by. */
  readonly factor?: number;
}

/** What went wrong with a model call, whoever the provider is. */
export type FailureKind =
  | "rate-limit"
  | "overloaded"
  | "network"
  | "server"
  | "timeout"
  | "invalid-request"
  | "authentication"
  | "quota"
  | "content-filter"
  | "context-overflow"
  /** What answered is no model: a page instead of a stream. */
  | "not-a-model"
  | "unknown";

export interface StepFamily {
  /** A later attempt at the same step has the same `step` and a higher `attempt`. */
  "step.started": {
    readonly turn: number;
    readonly step: number;
    readonly attempt: number;
    readonly model: ModelName;
    /** SHA-256 over instructions, tool definitions and messages, exactly as sent. */
    readonly promptDigest: string;
    readonly estimate: PromptEstimate;
  };
  "step.retrying": {
    readonly step: number;
    /** The attempt that failed, from 1. */
    readonly attempt: number;
    readonly delayMs: number;
    readonly kind?: FailureKind;
    readonly error: StoredError;
    /** What the failed attempt has spent; absent where it was refused before it said anything. */
    readonly usage?: TokenUsage;
  };
  "step.finished": {
    readonly step: number;
    readonly finishReason: FinishReason;
    readonly rawFinishReason?: string;
    readonly usage: TokenUsage;
    readonly response: ResponseMetadata;
    readonly providerMetadata?: ProviderMetadata;
  };
  "step.failed": {
    readonly step: number;
    readonly kind?: FailureKind;
    readonly error: StoredError;
    readonly usage: TokenUsage;
  };
  "step.interrupted": {
    readonly step: number;
    readonly reason: "cancelled" | "recovered" | "closed";
    readonly usage: TokenUsage;
  };
}

const step = z.int().positive();
const tokens = z.number().nonnegative();

/** Parses {@link PromptEstimate}. */
export const estimateSchema: z.ZodType<PromptEstimate> = z.looseObject({
  tokens,
  basis: z.enum(["length", "anchored", "counted"]),
  guessedTokens: tokens.exactOptional(),
  factor: z.number().positive().exactOptional(),
});

/** Parses {@link TokenUsage}. */
export const usageSchema: z.ZodType<TokenUsage> = z.looseObject({
  basis: z.enum(["measured", "estimated"]),
  inputTokens: tokens,
  outputTokens: tokens,
  uncachedInputTokens: tokens.exactOptional(),
  cacheReadTokens: tokens.exactOptional(),
  cacheWriteTokens: tokens.exactOptional(),
  textTokens: tokens.exactOptional(),
  reasoningTokens: tokens.exactOptional(),
  raw: jsonSchema.exactOptional(),
});

const failureKindSchema: z.ZodType<FailureKind> = z.enum([
  "rate-limit",
  "overloaded",
  "network",
  "server",
  "timeout",
  "invalid-request",
  "authentication",
  "quota",
  "content-filter",
  "context-overflow",
  "not-a-model",
  "unknown",
]);

/** The reasons that are known. */
export const finishReasonSchema: z.ZodType<FinishReason> = z.enum([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "other",
  "interrupted",
]);

export const stepSchemas: FamilySchemas<StepFamily> = {
  "step.started": z.looseObject({
    turn: z.int().positive(),
    step,
    attempt: z.int().positive(),
    model: modelNameSchema,
    promptDigest: z.string(),
    estimate: estimateSchema,
  }),
  "step.retrying": z.looseObject({
    step,
    attempt: z.int().positive(),
    delayMs: z.number().nonnegative(),
    kind: failureKindSchema.exactOptional(),
    error: storedErrorSchema,
    usage: usageSchema.exactOptional(),
  }),
  "step.finished": z.looseObject({
    step,
    finishReason: finishReasonSchema,
    rawFinishReason: z.string().exactOptional(),
    usage: usageSchema,
    response: z.looseObject({
      id: z.string().exactOptional(),
      modelId: z.string().exactOptional(),
      timestamp: z.number().exactOptional(),
    }),
    providerMetadata: providerMetadataSchema.exactOptional(),
  }),
  "step.failed": z.looseObject({
    step,
    kind: failureKindSchema.exactOptional(),
    error: storedErrorSchema,
    usage: usageSchema,
  }),
  "step.interrupted": z.looseObject({
    step,
    reason: z.enum(["cancelled", "recovered", "closed"]),
    usage: usageSchema,
  }),
};
