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

export interface ContextFamily {
  "context.pruned": {
    readonly calls: readonly { readonly step: number; readonly callId: string }[];
    /** Estimated tokens that the prompt lost. */
    readonly savedTokens: number;
  };
  "context.compaction-started": { readonly trigger: CompactionTrigger; readonly strategy: string };
  /** The messages of `covers` (positions, both included) are shown to the model as `summary`. */
  "context.compacted": CompactionCost & {
    readonly strategy: string;
    readonly covers: { readonly from: number; readonly to: number };
    /** Empty where the strategy drops what it covers. */
    readonly summary: string;
    readonly beforeTokens: number;
    readonly afterTokens: number;
  };
  "context.compaction-rejected": CompactionCost & {
    readonly strategy: string;
    readonly why: "nothing-to-gain" | "failed" | "cancelled" | "recovered";
    readonly error?: StoredError;
  };
  /** Undoes the pruning or compaction at `position`. */
  "context.restored": { readonly position: number };
  "context.overflowed": { readonly step: number; readonly error?: StoredError };
}

const tokens = z.number().nonnegative();
const position = z.int().positive();
const cost = {
  model: modelNameSchema.exactOptional(),
  usage: usageSchema.exactOptional(),
};

export const contextSchemas: FamilySchemas<ContextFamily> = {
  "context.pruned": z.looseObject({
    calls: z.array(z.looseObject({ step: z.int().positive(), callId: z.string() })),
    savedTokens: tokens,
  }),
  "context.compaction-started": z.looseObject({
    trigger: z.enum(["asked", "limit", "overflow"]),
    strategy: z.string(),
  }),
  "context.compacted": z.looseObject({
    strategy: z.string(),
    covers: z.looseObject({ from: position, to: position }),
    summary: z.string(),
    beforeTokens: tokens,
    afterTokens: tokens,
    ...cost,
  }),
  "context.compaction-rejected": z.looseObject({
    strategy: z.string(),
    why: z.enum(["nothing-to-gain", "failed", "cancelled", "recovered"]),
    error: storedErrorSchema.exactOptional(),
    ...cost,
  }),
  "context.restored": z.looseObject({ position }),
  "context.overflowed": z.looseObject({
    step: z.int().positive(),
    error: storedErrorSchema.exactOptional(),
  }),
};
