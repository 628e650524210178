/** How a model's tokenizer differs from the published ones, by family. Pure tables; the rest is learned (`calibration`). */

import type { ModelName } from "../events/index.ts";
import type { FactorPrior } from "../projections/index.ts";
import { modelFamily, type ModelFamily } from "./model-family.ts";
import type { Vocabulary } from "./text-tokens.ts";

export interface ModelTokenizer extends FactorPrior {
  readonly vocabulary: Vocabulary;
}

/** Families whose tokenizer nobody has published in a form that we weigh. */
const unknown: ModelTokenizer = { vocabulary: "o200k", factor: 1, spread: 0.07 };

const tokenizers: Readonly<Partial<Record<ModelFamily["name"], ModelTokenizer>>> = {
  openai: { vocabulary: "o200k", factor: 1, spread: 0.03 },
  deepseek: { vocabulary: "deepseek", factor: 1, spread: 0.05 },
  // Prose has as many tokens as for o200k, JSON a tenth more, code a quarter to a third.
  anthropic: { vocabulary: "o200k", factor: 1.1, spread: 0.15 },
};

export function modelTokenizer(model: ModelName): ModelTokenizer {
  return tokenizers[modelFamily(model).name] ?? unknown;
}
