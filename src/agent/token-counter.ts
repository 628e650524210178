/** Whoever can say how large a prompt is before it is sent: the provider, or a tokenizer of the user's. */

import type { ProviderOptions } from "@ai-sdk/provider-utils";
import type { LanguageModelCallOptions, ModelMessage, ToolSet } from "ai";

/** A prompt to be counted: what a step of the agent would send now. */
export interface CountRequest {
  readonly instructions?: string;
  readonly tools?: ToolSet;
  readonly settings?: LanguageModelCallOptions;
  readonly headers?: Record<string, string>;
  readonly providerOptions?: ProviderOptions;
  readonly messages: readonly ModelMessage[];
  /** Aborts when the time is up or the turn is cancelled. */
  readonly signal: AbortSignal;
}

/** Asked before a prompt is shortened which may fit. `providerCounter` makes those of the usual providers. */
export interface TokenCounter {
  /** As the log calls it. */
  readonly name: string;
  /** Milliseconds that a count may take. Default 10,000. */
  readonly timeoutMs?: number;
  /** The tokens of the whole prompt. What it throws fails no step: the estimate decides then. */
  count(request: CountRequest): PromiseLike<number>;
}

export const DEFAULT_COUNT_MS = 10_000;
