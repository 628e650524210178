/**
 * What estimating must know of a model's provider: how its tokenizer compares with o200k, what a
 * message costs beside its text, and what of a prompt it counts at all. Pure tables; what is not
 * known here is learned from the log (`calibration`).
 */

import type { ModelName } from "../events/index.ts";

type FamilyName = "openai" | "anthropic" | "google" | "deepseek" | "other";

export interface ModelFamily {
  readonly name: FamilyName;
  /** Tokens of its tokenizer for one of o200k, before anything was learned. */
  readonly factor: number;
  /** Tokens around a message: role, separators. */
  readonly perMessage: number;
  /** Tokens around one tool result. */
  readonly perResult: number;
  /** Whether the ids of calls are part of what it reads. */
  readonly readsCallIds: boolean;
  /** Whether reasoning that is sent back after its turn is dropped by the provider. */
  readonly dropsOldReasoning: boolean;
}

const families: Readonly<Record<FamilyName, ModelFamily>> = {
  // Chat format: <|im_start|>role<|im_sep|>…<|im_end|>; a result has the name of its function.
  openai: {
    name: "openai",
    factor: 1,
    perMessage: 4,
    perResult: 5,
    readsCallIds: false,
    dropsOldReasoning: true,
  },
  // Results are blocks that name the id of their call.
  anthropic: {
    name: "anthropic",
    factor: 1.2,
    perMessage: 4,
    perResult: 10,
    readsCallIds: true,
    dropsOldReasoning: true,
  },
  google: {
    name: "google",
    factor: 1,
    perMessage: 4,
    perResult: 8,
    readsCallIds: false,
    dropsOldReasoning: false,
  },
  deepseek: {
    name: "deepseek",
    factor: 1,
    perMessage: 4,
    perResult: 10,
    readsCallIds: false,
    dropsOldReasoning: false,
  },
  other: {
    name: "other",
    factor: 1,
    perMessage: 4,
    perResult: 8,
    readsCallIds: false,
    dropsOldReasoning: false,
  },
};

// By the model first: a gateway serves everybody's models under its own name.
const byModel: readonly (readonly [RegExp, FamilyName])[] = [
  [/claude/i, "anthropic"],
  [/gemini|gemma/i, "google"],
  [/deepseek/i, "deepseek"],
  [/(^|[/:.])(gpt|chatgpt|codex|o\d)\b/i, "openai"],
];

const byProvider: readonly (readonly [RegExp, FamilyName])[] = [
  [/^anthropic/i, "anthropic"],
  [/^google/i, "google"],
  [/^deepseek/i, "deepseek"],
  [/^(openai|azure)/i, "openai"],
];

export function modelFamily({ provider, modelId }: ModelName): ModelFamily {
  const found =
    byModel.find(([pattern]) => pattern.test(modelId)) ??
    byProvider.find(([pattern]) => pattern.test(provider));
  return families[found?.[1] ?? "other"];
}
