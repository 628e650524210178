/** `step.*`: model calls, numbered over the whole session from 1. */

import { z } from "zod";
import type { FamilySchemas } from "./family.ts";
import {
  jsonSchema,
  providerMetadataSchema,
  storedErrorSchema,
  type JsonValue,
  type ProviderMetadata,
  type StoredError,
} from "../values/json.ts";
import { modelNameSchema, type ModelName } from "./session-events.ts";

/**
 * Tokens of one model call. The parts are disjoint: uncached + cache read + cache write = input,
 * text + reasoning = output. A part that the provider did not report is absent.
 * @example
 * const { usage } = await turn.result;
 * console.log(usage.inputTokens + usage.outputTokens);
 */
export interface TokenUsage {
  /** `measured`: reported by the provider; `estimated`: by us, or from figures that contradict each other. */
  readonly basis: "measured" | "estimated";
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly uncachedInputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly textTokens?: number;
  readonly reasoningTokens?: number;
  /** The provider's figures as it reported them, where they contradict each other or cannot be. */
  readonly reported?: ReportedUsage;
  readonly raw?: JsonValue;
}

/** Figures of a provider, not checked. One that it did not report is absent. */
export interface ReportedUsage {
  readonly inputTokens?: number;
  readonly noCacheTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly outputTokens?: number;
  readonly textTokens?: number;
  readonly reasoningTokens?: number;
}

export interface ResponseMetadata {
  readonly id?: string;
  readonly modelId?: string;
  /** Epoch milliseconds. */
  readonly timestamp?: number;
}

export type FinishReason =
  | "stop"
  | "length"
  | "content-filter"
  | "tool-calls"
  | "error"
  | "other"
  | "interrupted";

/** The size of a prompt before it is sent. */
export interface PromptEstimate {
  readonly tokens: number;
  /**
   * `length`: an estimate of everything; `anchored`: the last billed or counted size plus an estimate of
   * the changes since; `counted`: this prompt was counted.
   */
  readonly basis: "length" | "anchored" | "counted";
  /** Estimated tokens of text before `factor`, for the calibration. */
  readonly guessedTokens?: number;
  readonly factor?: number;
}

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
  /** The response is not a model's: for instance a page of a proxy. */
  | "not-a-model"
  | "unknown";

/**
 * Why another model takes over: how the one before failed, its circuit was open when the step began, or the agent has
 * it no longer.
 */
export type FailoverReason = FailureKind | "circuit-open" | "not-in-agent";

export interface StepFamily {
  /** The model is called. A later attempt at the step has a higher `attempt`. Durable before the request is sent. */
  "step.started": {
    readonly turn: number;
    readonly step: number;
    /** From 1. */
    readonly attempt: number;
    readonly model: ModelName;
    /** SHA-256 over the sent instructions, tool definitions and messages. */
    readonly promptDigest: string;
    readonly estimate: PromptEstimate;
  };
  /** An attempt failed, and another one follows after `delayMs`. */
  "step.retrying": {
    readonly step: number;
    /** The attempt that failed, from 1. */
    readonly attempt: number;
    /** The wait, in milliseconds. */
    readonly delayMs: number;
    /** Of the failure; absent if it is not known. */
    readonly kind?: FailureKind;
    readonly error: StoredError;
    /** Usage of the failed attempt; absent if it failed before any output. */
    readonly usage?: TokenUsage;
  };
  /** The rest of the turn is another model's. After a failed attempt, `step.retrying` with its error follows. */
  "step.failed-over": {
    readonly step: number;
    /** The attempt that failed; absent before the step's first one. */
    readonly attempt?: number;
    /** The model that failed. */
    readonly from: ModelName;
    /** The model of the next attempt. */
    readonly to: ModelName;
    readonly why: FailoverReason;
  };
  /** The model has answered. Its calls, if it made any, follow as `tool.*`. */
  "step.finished": {
    readonly step: number;
    /** Why the model stopped, in the words of the AI SDK. */
    readonly finishReason: FinishReason;
    /** The same in the provider's word. */
    readonly rawFinishReason?: string;
    readonly usage: TokenUsage;
    /** The provider's id, model and time. */
    readonly response: ResponseMetadata;
    readonly providerMetadata?: ProviderMetadata;
    /** Calls that the provider runs and whose results come in a later step: the turn continues. */
    readonly deferred?: readonly string[];
  };
  /** The last attempt failed: the turn fails. */
  "step.failed": {
    readonly step: number;
    /** Of the failure; absent if it is not known. */
    readonly kind?: FailureKind;
    readonly error: StoredError;
    readonly usage: TokenUsage;
  };
  /** The step ended before the model did. What it had streamed stays. */
  "step.interrupted": {
    readonly step: number;
    /** A person cancelled it, its process had died, or its process was closed. */
    readonly reason: "cancelled" | "recovered" | "closed";
    readonly usage: TokenUsage;
  };
}

const step = z.int().positive();
const tokens = z.number().nonnegative();

export const estimateSchema: z.ZodType<PromptEstimate> = z.lazy(() =>
  z.looseObject({
    tokens,
    basis: z.enum(["length", "anchored", "counted"]),
    guessedTokens: tokens.exactOptional(),
    factor: z.number().positive().exactOptional(),
  }),
);

const reportedSchema: z.ZodType<ReportedUsage> = z.lazy(() =>
  z.looseObject({
    inputTokens: z.number().exactOptional(),
    noCacheTokens: z.number().exactOptional(),
    cacheReadTokens: z.number().exactOptional(),
    cacheWriteTokens: z.number().exactOptional(),
    outputTokens: z.number().exactOptional(),
    textTokens: z.number().exactOptional(),
    reasoningTokens: z.number().exactOptional(),
  }),
);

export const usageSchema: z.ZodType<TokenUsage> = z.lazy(() =>
  z.looseObject({
    basis: z.enum(["measured", "estimated"]),
    inputTokens: tokens,
    outputTokens: tokens,
    uncachedInputTokens: tokens.exactOptional(),
    cacheReadTokens: tokens.exactOptional(),
    cacheWriteTokens: tokens.exactOptional(),
    textTokens: tokens.exactOptional(),
    reasoningTokens: tokens.exactOptional(),
    reported: reportedSchema.exactOptional(),
    raw: jsonSchema.exactOptional(),
  }),
);

export const failureKinds = [
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
] as const satisfies readonly FailureKind[];

const failureKindSchema: z.ZodType<FailureKind> = z.enum(failureKinds);

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
  "step.started": () =>
    z.looseObject({
      turn: z.int().positive(),
      step,
      attempt: z.int().positive(),
      model: modelNameSchema,
      promptDigest: z.string(),
      estimate: estimateSchema,
    }),
  "step.retrying": () =>
    z.looseObject({
      step,
      attempt: z.int().positive(),
      delayMs: z.number().nonnegative(),
      kind: failureKindSchema.exactOptional(),
      error: storedErrorSchema,
      usage: usageSchema.exactOptional(),
    }),
  "step.failed-over": () =>
    z.looseObject({
      step,
      attempt: z.int().positive().exactOptional(),
      from: modelNameSchema,
      to: modelNameSchema,
      why: z.enum([...failureKinds, "circuit-open", "not-in-agent"]),
    }),
  "step.finished": () =>
    z.looseObject({
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
      deferred: z.array(z.string()).exactOptional(),
    }),
  "step.failed": () =>
    z.looseObject({
      step,
      kind: failureKindSchema.exactOptional(),
      error: storedErrorSchema,
      usage: usageSchema,
    }),
  "step.interrupted": () =>
    z.looseObject({
      step,
      reason: z.enum(["cancelled", "recovered", "closed"]),
      usage: usageSchema,
    }),
};
