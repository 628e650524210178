/** What estimates depend on, by family of models. Pure tables; the rest is learned from the log (`calibration`). */

import type { ModelName } from "../events/index.ts";

type FamilyName = "openai" | "anthropic" | "google" | "deepseek" | "other";

export interface ModelFamily {
  readonly name: FamilyName;
  /** Tokens of its tokenizer for one of o200k, before calibration. */
  readonly factor: number;
  /** Tokens around a message: role, separators. */
  readonly perMessage: number;
  /** Tokens around one tool result. */
  readonly perResult: number;
  /** Whether call ids count as tokens. */
  readonly readsCallIds: boolean;
  /** Whether the provider drops reasoning of earlier turns. */
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

// By the model first: a gateway serves models of many makers.
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
