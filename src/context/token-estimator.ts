/**
 * The small interface behind which tokens are counted or guessed. Ours is `defaultEstimator`; a
 * user's tokenizer takes its place where exactness is worth its time.
 */

import { check, flag, optionsOf, text } from "../validation/index.ts";
import { textTokens } from "./text-tokens.ts";

/**
 * Counts tokens without asking a provider. {@link defaultEstimator}, {@link tokenizer} and {@link
 * lengthEstimator} make one.
 */
export interface TokenEstimator {
  readonly name: string;
  /** Tokens of a text; need not be whole. Pure, and linear in the text. */
  text(text: string): number;
  /**
   * Whether the figures are those of the model's own tokenizer, so that they are not multiplied by
   * how its tokenizer compares with another.
   */
  readonly exact: boolean;
}

/** Cuts a text as a tokenizer would and weighs the pieces; knows code, JSON, base64 and scripts. */
export const defaultEstimator: TokenEstimator = {
  name: "default",
  exact: false,
  text: textTokens,
};

/** Four characters a token: OpenAI, "What are tokens and how to count them?". */
export const lengthEstimator: TokenEstimator = {
  name: "length",
  exact: false,
  text: (text) => text.length / 4,
};

/** What a {@link tokenizer} is called, and how its figures are used. */
export interface TokenizerOptions {
  /** The estimator's name in the log. Default `tokenizer`. */
  readonly name?: string;
  /** See {@link TokenEstimator.exact}. Default true. */
  readonly exact?: boolean;
}

const schema = optionsOf<TokenizerOptions>({ name: text, exact: flag }, {});

/** An estimator of a tokenizer, for instance `tokenizer((text) => encode(text).length)`. */
export function tokenizer(
  count: (text: string) => number,
  options: TokenizerOptions = {},
): TokenEstimator {
  check(schema, options, "tokenizer", { name: "options" });
  const { name = "tokenizer", exact = true } = options;
  return { name, exact, text: count };
}
