/** Estimators of tokens: a fast one, and the user's tokenizer for exact figures. */

import type { ModelName } from "../../events/index.ts";
import type { FactorPrior } from "../../projections/index.ts";
import { check, flag, optionsOf, text } from "../../validation/index.ts";
import { textTokens, type Vocabulary } from "./text-tokens.ts";
import { modelFamily, type ModelFamily } from "../models/model-family.ts";

/**
 * Estimates tokens without a provider. See {@link tokenizer}.
 * @example
 * const context: Agent["context"] = {
 *   estimator: { name: "quarter", exact: false, text: (text) => text.length / 4 },
 * };
 */
export interface TokenEstimator {
  readonly name: string;
  /** Tokens of a text; may have a fraction. Pure, and linear in the text. */
  text(text: string): number;
  /** Figures of the model's own tokenizer: the family's factor is not applied. */
  readonly exact: boolean;
}

/** Splits a text as a tokenizer would and weighs the pieces; handles code, JSON, base64 and scripts. */
export const defaultEstimator: TokenEstimator = {
  name: "default",
  exact: false,
  text: (text) => textTokens(text),
};

/** The figures of an estimator for a model's texts. The default estimator knows more tokenizers than o200k. */
export function countsFor(estimator: TokenEstimator, model: ModelName): TokenEstimator["text"] {
  if (estimator !== defaultEstimator) return (text) => estimator.text(text);
  const { vocabulary } = modelTokenizer(model);
  return (text) => textTokens(text, vocabulary);
}

/** The error of a user's own inexact estimator is not known. */
const OWN_SPREAD = 0.3;

/** The factor between an estimator's figures for a model and bills, before there are any. */
export function factorPrior(estimator: TokenEstimator, model: ModelName): FactorPrior {
  const { factor, spread } = modelTokenizer(model);
  if (estimator.exact) return { factor: 1, spread };
  return { factor, spread: estimator === defaultEstimator ? spread : OWN_SPREAD };
}

interface TokenizerOptions {
  /** The estimator's name in the log. Default `tokenizer`. */
  readonly name?: string;
  /** See {@link TokenEstimator.exact}. Default true. */
  readonly exact?: boolean;
}

const schema = optionsOf<TokenizerOptions>({ name: text, exact: flag }, {});

/** Makes an estimator from a tokenizer. @example const estimator = tokenizer((text) => encode(text).length); */
export function tokenizer(
  count: (text: string) => number,
  options: TokenizerOptions = {},
): { readonly name: string; readonly exact: boolean; readonly text: (text: string) => number } {
  check(schema, options, "tokenizer", { name: "options" });
  const { name = "tokenizer", exact = true } = options;
  return { name, exact, text: count };
}

// How a model's tokenizer differs from the published ones, by family. Pure tables; the rest is learned
// (`calibration`).

interface ModelTokenizer extends FactorPrior {
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
