/** `context.*`: how the prompt was measured and made smaller. Nothing is removed from the log. */

import { z } from "zod";
import type { FamilySchemas } from "./family.ts";
import { storedErrorSchema, type StoredError } from "../values/json.ts";
import { modelNameSchema, type ModelName } from "./session-events.ts";
import { usageSchema, type TokenUsage } from "./step-events.ts";

interface CompactionCost {
  /** The model that was asked for a summary; absent if none was. */
  readonly model?: ModelName;
  /** What that call used. */
  readonly usage?: TokenUsage;
}

/** `asked` by a person or a program, at a `limit` of the agent's setting, or by a request that was too long. */
export type CompactionTrigger = "asked" | "limit" | "overflow";

const rungs = ["whole", "capped", "newest"] as const;
/** What the summarising model is shown: everything; everything with long parts cut; the newest part of that. */
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
/** Why there is no summary: `no-room` and `overflow` concern the request, `failed` the call, the others the reply. */
export type SummaryProblem = (typeof problems)[number];

/** A call whose result is shown cut. Lengths are in UTF-16 units. */
export interface CutCall {
  readonly step: number;
  readonly callId: string;
  readonly head: number;
  readonly tail: number;
}

/** A call whose input is shown cut. Lengths are in UTF-16 units. */
export interface CutInput {
  readonly step: number;
  readonly callId: string;
  /** How many characters of each longer text in the input stay. */
  readonly texts: number;
  /** The whole input is shown as one such text, its JSON: its texts are not what is long. */
  readonly asText?: true;
}

/** The oldest media, which prompts leave out. */
export interface OmittedMedia {
  /** All media before this position are left out. */
  readonly before: number;
  /** At that position, how many of the first media of the step, or of each message by its id. */
  readonly there: readonly { readonly id?: string; readonly media: number }[];
}

/** One file of an item, by the position of the item, the id of a user's message, and its number there. */
export interface RefusedMedium {
  readonly position: number;
  readonly id?: string;
  readonly index: number;
}

/** How the conversation is sent after its provider refused it. Later rungs say less. */
export type Reduction =
  /** These files are left out. */
  | {
      readonly rung: "without-media";
      readonly to: number;
      readonly media: readonly RefusedMedium[];
    }
  /** Everything up to `to` but the newest user message is plain text (`as-text`), or left out (`newest-only`). */
  | { readonly rung: "as-text" | "newest-only"; readonly to: number };

export type ReductionRung = Reduction["rung"];

interface CountedPrompt {
  /** The name of the counter. */
  readonly counter: string;
  /** The model for which it counts. */
  readonly model: ModelName;
  /** Our own estimate of the same prompt, in tokens. */
  readonly estimatedTokens: number;
}

export interface ContextFamily {
  /** The outputs of old calls are no longer shown. */
  "context.pruned": {
    /** The calls whose outputs are left out. */
    readonly calls: readonly { readonly step: number; readonly callId: string }[];
    /** Estimated tokens that the prompt lost. */
    readonly savedTokens: number;
  };
  /** Long results and inputs are shown by their beginning and end only. */
  "context.cut": {
    /** The calls whose outputs are cut. */
    readonly calls: readonly CutCall[];
    /** Absent if no input is cut. */
    readonly inputs?: readonly CutInput[];
    /** The tool with which the model reads the rest; absent if it has none. */
    readonly reader?: string;
    /** Estimated tokens that the prompt lost. */
    readonly savedTokens: number;
  };
  /** The oldest media are no longer shown: the request would be too large for the model. */
  "context.media-omitted": OmittedMedia & {
    /** How many media this leaves out. */
    readonly media: number;
    /** How many bytes smaller the request becomes. Files count as base64. */
    readonly savedBytes: number;
  };
  /** The provider refused the conversation: the next attempt at the step, and all later ones, send less of it. */
  "context.reduced": Reduction & { readonly step: number };
  /** The counted size of the prompt that the next step would send. */
  "context.counted": CountedPrompt & {
    /** The count. */
    readonly tokens: number;
  };
  /** Counting failed or gave no valid number: the estimate decides. */
  "context.count-failed": CountedPrompt & { readonly error: StoredError };
  /** A compaction begins; `context.compacted` or `context.compaction-rejected` ends it. */
  "context.compaction-started": {
    readonly trigger: CompactionTrigger;
    /** The name of the strategy. */
    readonly strategy: string;
    /** The name of the person who asked for it. */
    readonly by?: string;
  };
  /** The model is shown `summary` in place of `covers` (positions, both included). */
  "context.compacted": CompactionCost & {
    /** The name of the strategy. */
    readonly strategy: string;
    /** The summary replaces the events at these positions. */
    readonly covers: { readonly from: number; readonly to: number };
    /** What the model is shown instead. */
    readonly summary: string;
    /** Which request gave the summary; `digest` if none did. Absent if the strategy asks no model. */
    readonly rung?: SummaryRung | "digest";
    /** Estimated tokens of the next prompt without the compaction. */
    readonly beforeTokens: number;
    /** Estimated tokens of the next prompt with it, by the same scale. */
    readonly afterTokens: number;
    /** Tokens for one token of our own count, until a prompt is billed again. Default 1. */
    readonly scale?: number;
  };
  /** A compaction ends without a change. */
  "context.compaction-rejected": CompactionCost & {
    /** The name of the strategy. */
    readonly strategy: string;
    /** `not-needed`: the prompt fits without it, after a pruning or by a count. */
    readonly why: "nothing-to-gain" | "not-needed" | "failed" | "cancelled" | "recovered";
    /** Estimated tokens of the next prompt. */
    readonly beforeTokens?: number;
    /** Why it failed. */
    readonly error?: StoredError;
  };
  /** A model gave no usable summary. The next rung follows, and after the last one a digest without a model. */
  "context.summary-rejected": CompactionCost & {
    /** The name of the strategy. */
    readonly strategy: string;
    readonly rung: SummaryRung;
    readonly why: SummaryProblem;
    /** Why the call failed. */
    readonly error?: StoredError;
  };
  /** Undoes the pruning, cut, omission, reduction or compaction at `position`. */
  "context.restored": {
    /** Of the event that is undone. */
    readonly position: number;
  };
  /** The provider refused the prompt of a step as too long, before any output. */
  "context.overflowed": {
    readonly step: number;
    /** In the words of the provider. */
    readonly error?: StoredError;
  };
}

const tokens = z.number().nonnegative();
const position = z.int().positive();
const cost = {
  model: modelNameSchema.exactOptional(),
  usage: usageSchema.exactOptional(),
};

const countedPrompt = { counter: z.string(), model: modelNameSchema, estimatedTokens: tokens };

const characters = z.int().nonnegative();

export const cutCallSchema: z.ZodType<CutCall> = z.looseObject({
  step: z.int().positive(),
  callId: z.string(),
  head: characters,
  tail: characters,
});

export const cutInputSchema: z.ZodType<CutInput> = z.looseObject({
  step: z.int().positive(),
  callId: z.string(),
  texts: characters,
  asText: z.literal(true).exactOptional(),
});

export const omittedMediaSchema: z.ZodType<OmittedMedia> = z.lazy(() =>
  z.looseObject({
    before: position,
    there: z.array(z.looseObject({ id: z.string().exactOptional(), media: z.int().nonnegative() })),
  }),
);

const refusedMedium: z.ZodType<RefusedMedium> = z.lazy(() =>
  z.looseObject({ position, id: z.string().exactOptional(), index: z.int().nonnegative() }),
);

export const reductionSchema: z.ZodType<Reduction> = z.lazy(() =>
  z.discriminatedUnion("rung", [
    z.looseObject({
      rung: z.literal("without-media"),
      to: position,
      media: z.array(refusedMedium),
    }),
    z.looseObject({ rung: z.enum(["as-text", "newest-only"]), to: position }),
  ]),
);

export const contextSchemas: FamilySchemas<ContextFamily> = {
  "context.pruned": () =>
    z.looseObject({
      calls: z.array(z.looseObject({ step: z.int().positive(), callId: z.string() })),
      savedTokens: tokens,
    }),
  "context.cut": () =>
    z.looseObject({
      calls: z.array(cutCallSchema),
      inputs: z.array(cutInputSchema).exactOptional(),
      reader: z.string().exactOptional(),
      savedTokens: tokens,
    }),
  "context.media-omitted": () =>
    z.intersection(
      omittedMediaSchema,
      z.looseObject({ media: z.int().nonnegative(), savedBytes: z.number() }),
    ),
  "context.reduced": () =>
    z.intersection(reductionSchema, z.looseObject({ step: z.int().positive() })),
  "context.counted": () => z.looseObject({ ...countedPrompt, tokens }),
  "context.count-failed": () => z.looseObject({ ...countedPrompt, error: storedErrorSchema }),
  "context.compaction-started": () =>
    z.looseObject({
      trigger: z.enum(["asked", "limit", "overflow"]),
      strategy: z.string(),
      by: z.string().exactOptional(),
    }),
  "context.compacted": () =>
    z.looseObject({
      strategy: z.string(),
      covers: z.looseObject({ from: position, to: position }),
      summary: z.string(),
      rung: z.enum([...rungs, "digest"]).exactOptional(),
      beforeTokens: tokens,
      afterTokens: tokens,
      scale: z.number().positive().exactOptional(),
      ...cost,
    }),
  "context.compaction-rejected": () =>
    z.looseObject({
      strategy: z.string(),
      why: z.enum(["nothing-to-gain", "not-needed", "failed", "cancelled", "recovered"]),
      beforeTokens: tokens.exactOptional(),
      error: storedErrorSchema.exactOptional(),
      ...cost,
    }),
  "context.summary-rejected": () =>
    z.looseObject({
      strategy: z.string(),
      rung: z.enum(rungs),
      why: z.enum(problems),
      error: storedErrorSchema.exactOptional(),
      ...cost,
    }),
  "context.restored": () => z.looseObject({ position }),
  "context.overflowed": () =>
    z.looseObject({
      step: z.int().positive(),
      error: storedErrorSchema.exactOptional(),
    }),
};
