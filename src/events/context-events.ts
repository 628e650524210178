/** `context.*`: what the model is no longer shown, and why. Nothing is removed from the log. */

import { z } from "zod";
import type { FamilySchemas } from "./family.ts";
import { storedErrorSchema, type StoredError } from "./json.ts";
import { modelNameSchema, type ModelName } from "./session-events.ts";
import { usageSchema, type TokenUsage } from "./step-events.ts";

/** What a model that wrote a summary has cost; absent where no model was asked. */
interface CompactionCost {
  readonly model?: ModelName;
  readonly usage?: TokenUsage;
}

/** What made a compaction begin. */
export type CompactionTrigger = "asked" | "limit" | "overflow";

const rungs = ["whole", "capped", "newest"] as const;
/**
 * What is shown to the model that summarises: everything; with long parts cut; of that, the newest.
 */
export type SummaryRung = (typeof rungs)[number];

const problems = [
  "no-room",
  "overflow",
  "failed",
  "empty",
  "cut-off",
  "incomplete",
  "called-tools",
  "repeating",
  "too-long",
] as const;
/** Why there is no summary: `no-room` and `overflow` by the request, `failed` by the call, the others by the reply. */
export type SummaryProblem = (typeof problems)[number];

/** A call whose result is cut, and how many characters (UTF-16 units) of it stay. */
export interface CutCall {
  readonly step: number;
  readonly callId: string;
  /** From the beginning. */
  readonly head: number;
  /** From the end. */
  readonly tail: number;
}

/** Up to where media are left out, the oldest first. */
export interface OmittedMedia {
  /** A position in the history: all media of what stands before it. */
  readonly before: number;
  /** Of what stands at it, how many of its first media: of a step, or of messages by their ids. */
  readonly there: readonly { readonly id?: string; readonly media: number }[];
}

/** A prompt whose size somebody was asked for who can count it: the provider, as a rule. */
interface CountedPrompt {
  /** Who was asked. */
  readonly counter: string;
  readonly model: ModelName;
  /** What we had estimated. */
  readonly estimatedTokens: number;
}

export interface ContextFamily {
  "context.pruned": {
    readonly calls: readonly { readonly step: number; readonly callId: string }[];
    /** Estimated tokens that the prompt lost. */
    readonly savedTokens: number;
  };
  /** Results that are longer than their share are shown by their beginning and their end. */
  "context.cut": {
    readonly calls: readonly CutCall[];
    /** The tool by which the model reads what is left out; absent where it is offered none. */
    readonly reader?: string;
    /** Estimated tokens that the prompt lost. */
    readonly savedTokens: number;
  };
  /** The oldest media are no longer shown, as the request would be larger than the model takes. */
  "context.media-omitted": OmittedMedia & {
    /** How many that were shown are not any more. */
    readonly media: number;
    /** Of the request, its files as base64. */
    readonly savedBytes: number;
  };
  /** How large the prompt is that the next step would send, as it stands here. */
  "context.counted": CountedPrompt & { readonly tokens: number };
  /** There was no count, or none that can be one: the estimate decides. */
  "context.count-failed": CountedPrompt & { readonly error: StoredError };
  "context.compaction-started": { readonly trigger: CompactionTrigger; readonly strategy: string };
  /** The messages of `covers` (positions, both included) are shown to the model as `summary`. */
  "context.compacted": CompactionCost & {
    readonly strategy: string;
    readonly covers: { readonly from: number; readonly to: number };
    /** Empty where the strategy drops what it covers. */
    readonly summary: string;
    /** How the summary came about; absent where the strategy asks no model. `digest`: none was to be had. */
    readonly rung?: SummaryRung | "digest";
    /** What the next prompt is estimated at before it and behind it, by the same scale. */
    readonly beforeTokens: number;
    readonly afterTokens: number;
    /** How many of those tokens there are for one of our own count, until a prompt is billed again. Default 1. */
    readonly scale?: number;
  };
  "context.compaction-rejected": CompactionCost & {
    readonly strategy: string;
    /** `not-needed`: the prompt has room without it, after a pruning or as it was counted. */
    readonly why: "nothing-to-gain" | "not-needed" | "failed" | "cancelled" | "recovered";
    /** Estimated tokens of the prompt that stays as it is. */
    readonly beforeTokens?: number;
    readonly error?: StoredError;
  };
  /** A model was asked for a summary and gave none; the next rung is tried, at last a digest without a model. */
  "context.summary-rejected": CompactionCost & {
    readonly strategy: string;
    readonly rung: SummaryRung;
    readonly why: SummaryProblem;
    readonly error?: StoredError;
  };
  /** Undoes the pruning, cut, omission of media or compaction at `position`. */
  "context.restored": { readonly position: number };
  /** The provider refused the prompt of a step as too long, before it said anything. */
  "context.overflowed": { readonly step: number; readonly error?: StoredError };
}

const tokens = z.number().nonnegative();
const position = z.int().positive();
const cost = {
  model: modelNameSchema.exactOptional(),
  usage: usageSchema.exactOptional(),
};

const countedPrompt = { counter: z.string(), model: modelNameSchema, estimatedTokens: tokens };

const characters = z.int().nonnegative();

/** Parses {@link CutCall}. */
export const cutCallSchema: z.ZodType<CutCall> = z.looseObject({
  step: z.int().positive(),
  callId: z.string(),
  head: characters,
  tail: characters,
});

/** Parses {@link OmittedMedia}. */
export const omittedMediaSchema: z.ZodType<OmittedMedia> = z.looseObject({
  before: position,
  there: z.array(z.looseObject({ id: z.string().exactOptional(), media: z.int().nonnegative() })),
});

export const contextSchemas: FamilySchemas<ContextFamily> = {
  "context.pruned": z.looseObject({
    calls: z.array(z.looseObject({ step: z.int().positive(), callId: z.string() })),
    savedTokens: tokens,
  }),
  "context.cut": z.looseObject({
    calls: z.array(cutCallSchema),
    reader: z.string().exactOptional(),
    savedTokens: tokens,
  }),
  "context.media-omitted": z.intersection(
    omittedMediaSchema,
    z.looseObject({ media: z.int().nonnegative(), savedBytes: z.number() }),
  ),
  "context.counted": z.looseObject({ ...countedPrompt, tokens }),
  "context.count-failed": z.looseObject({ ...countedPrompt, error: storedErrorSchema }),
  "context.compaction-started": z.looseObject({
    trigger: z.enum(["asked", "limit", "overflow"]),
    strategy: z.string(),
  }),
  "context.compacted": z.looseObject({
    strategy: z.string(),
    covers: z.looseObject({ from: position, to: position }),
    summary: z.string(),
    rung: z.enum([...rungs, "digest"]).exactOptional(),
    beforeTokens: tokens,
    afterTokens: tokens,
    scale: z.number().positive().exactOptional(),
    ...cost,
  }),
  "context.compaction-rejected": z.looseObject({
    strategy: z.string(),
    why: z.enum(["nothing-to-gain", "not-needed", "failed", "cancelled", "recovered"]),
    beforeTokens: tokens.exactOptional(),
    error: storedErrorSchema.exactOptional(),
    ...cost,
  }),
  "context.summary-rejected": z.looseObject({
    strategy: z.string(),
    rung: z.enum(rungs),
    why: z.enum(problems),
    error: storedErrorSchema.exactOptional(),
    ...cost,
  }),
  "context.restored": z.looseObject({ position }),
  "context.overflowed": z.looseObject({
    step: z.int().positive(),
    error: storedErrorSchema.exactOptional(),
  }),
};
