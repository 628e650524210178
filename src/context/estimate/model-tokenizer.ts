/** How a model's tokenizer differs from the published ones, by family. Pure tables; the rest is learned (`calibration`). */

import type { ModelName } from "../../events/index.ts";
import type { FactorPrior } from "../../projections/index.ts";
import { modelFamily, type ModelFamily } from "../models/model-family.ts";
import type { Vocabulary } from "./text-tokens.ts";

export interface ModelTokenizer extends FactorPrior {
  readonly vocabulary: Vocabulary;
}

/** Families without a published tokenizer that we have weights for. */
const unknown: ModelTokenizer = { vocabulary: "o200k", factor: 1, spread: 0.07 };

const tokenizers: Readonly<Partial<Record<ModelFamily["name"], ModelTokenizer>>> = {
  openai: { vocabulary: "o200k", factor: 1, spread: 0.03 },
  deepseek: { vocabulary: "deepseek", factor: 1, spread: 0.05 },
  // Prose has as many tokens as for o200k, JSON a tenth more, code a quarter to a third.
  anthropic: { vocabulary: "o200k", factor: 1.1, spread: 0.15 },
};

/** Claude's tokenizer before Opus 4.7 and Sonnet 5. The newer one makes up to 1.35 times as many: "What's new", platform.claude.com. */
const olderClaude =
  /claude-(2|3|instant)|haiku-4|(opus|sonnet)-4([-.@][0-6])?(?![-.]?\d(?!\d{7}))/i;
const NEWER_CLAUDE = 1.3;

export function modelTokenizer(model: ModelName): ModelTokenizer {
  const { name } = modelFamily(model);
  const found = tokenizers[name] ?? unknown;
  return name === "anthropic" && !olderClaude.test(model.modelId)
    ? { ...found, factor: found.factor * NEWER_CLAUDE }
    : found;
}
