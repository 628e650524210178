/** The context options of an agent: when and how the prompt is shortened, and the limits of its model. */

import type { ProviderOptions } from "@ai-sdk/provider-utils";
import type { Instructions, LanguageModelCallOptions, ModelMessage, ToolChoice, ToolSet } from "ai";
import {
  overflow,
  summarize,
  type CompactionStrategy,
  type CompactionWhen,
  type CutOptions,
  limitedMedia,
  modelMedia,
  type MediaBudget,
  type MediaLimits,
  type ModelCatalogue,
  type ModelLimits,
  type PruneOptions,
  type TokenEstimator,
} from "../context/index.ts";
import { TurnlogError, type ModelName } from "../events/index.ts";

/**
 * How much of a long session the prompt contains, and how its size is measured.
 * @example
 * const context: Agent["context"] = { compact: { when: threshold(0.8), how: summarize() } };
 * const agent: Agent = { model, context };
 */
export interface ContextOptions {
  /** Which old tool results a placeholder replaces. `false`: none. */
  readonly prune?: PruneOptions | false;
  /** Which new, long tool results are cut. `false`: none. */
  readonly cut?: CutOptions | false;
  /**
   * Limits of media in a request, below the known limits of its model. The oldest media beyond them are
   * left out. `false`: none are, whatever the model accepts.
   */
  readonly media?: MediaBudget | false;
  /**
   * What follows when the provider refuses the conversation itself, for instance a picture that it cannot read.
   * `reduce`, the default: the step is tried again with less of it. `fail`: the turn fails.
   */
  readonly onRefusal?: "reduce" | "fail";
  /**
   * When and how the conversation is compacted. Default: `overflow()` and `summarize()`; `false`: only by
   * `session.compact()`.
   */
  readonly compact?: CompactionChoice | false;
  /** Context windows and prices, by `provider:model` or by the model alone. They override the catalogue. */
  readonly limits?: Readonly<Record<string, ModelLimits>>;
  /** The source of all other windows and prices. Default: those of `@pydantic/genai-prices`. */
  readonly catalogue?: ModelCatalogue;
  /** How texts are counted. Default: `defaultEstimator`. */
  readonly estimator?: TokenEstimator;
  /** Counts a prompt that is about to be compacted. By default there is none, and the estimate decides. */
  readonly counter?: TokenCounter;
}

/** The prompt to count: what a step of the agent would send now. */
export interface CountRequest extends LanguageModelCallOptions {
  readonly instructions?: Instructions;
  readonly tools?: ToolSet;
  readonly toolChoice?: ToolChoice<ToolSet>;
  readonly headers?: Record<string, string | undefined>;
  readonly providerOptions?: ProviderOptions;
  readonly messages: readonly ModelMessage[];
  /** Aborts when the time is up or the turn is cancelled. */
  readonly signal: AbortSignal;
}

/**
 * Counts a prompt before it is compacted. `providerCounter` makes counters for the usual providers.
 * @example
 * const context: Agent["context"] = {
 *   counter: { name: "mine", count: async ({ messages }) => await countAt(messages) },
 * };
 */
export interface TokenCounter {
  /** The counter's name in the log. */
  readonly name: string;
  /** Milliseconds that a count may take. Default 10,000. */
  readonly timeoutMs?: number;
  /** Returns the tokens of the whole prompt. If it fails, the estimate decides, and no step fails. */
  count(request: CountRequest): PromiseLike<number>;
}

export const DEFAULT_COUNT_MS = 10_000;

/** When to compact, and how. @example const context: Agent["context"] = { compact: { when: threshold(0.8), how: summarize({ keepTokens: 10_000 }) } }; */
export interface CompactionChoice {
  readonly when: CompactionWhen;
  readonly how: CompactionStrategy;
}

const usual: CompactionChoice = { when: overflow(), how: summarize() };

/** The choice of an agent; undefined if its sessions are compacted only on request. */
export function compactionChoice(options: ContextOptions = {}): CompactionChoice | undefined {
  const { compact = usual } = options;
  return compact === false ? undefined : compact;
}

export function compactionHow(options: ContextOptions = {}): CompactionStrategy {
  return (compactionChoice(options) ?? usual).how;
}

/** The media limits of a model and of the user; undefined if none are known. */
export function mediaLimits(
  model: ModelName,
  { media = {} }: ContextOptions = {},
): MediaLimits | undefined {
  return limitedMedia(modelMedia(model), media === false ? {} : media);
}

/** @throws TurnlogError `INVALID_INPUT` for a share outside (0, 1] or a negative budget */
export function checkContext({ cut = {}, media = {} }: ContextOptions = {}): void {
  const { requestBytes = 0, pictures = 0 } = media === false ? {} : media;
  if (!(requestBytes >= 0 && pictures >= 0)) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `A request may have a number of bytes and pictures from 0 up, not ${requestBytes} and ${pictures}: change context.media.`,
    );
  }
  const share = cut === false ? undefined : cut.share;
  if (share === undefined || (share > 0 && share <= 1)) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `A tool result may take a share of the prompt above 0 and up to 1, not ${share}: change context.cut.share.`,
  );
}
