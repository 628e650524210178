/** What an agent's user says of the context: when it is shortened and how, and what is known of its model. */

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
import type { TokenCounter } from "./token-counter.ts";

/** What the model gets to see of a long session, and by what it is measured. */
export interface ContextOptions {
  /** Which old tool results give way to a placeholder. `false`: none. */
  readonly prune?: PruneOptions | false;
  /** Which new tool results are shown cut, as they are longer than their share. `false`: none. */
  readonly cut?: CutOptions | false;
  /**
   * How much of media a request may have, below what is known of its model. The oldest beyond it are
   * left out. `false`: none is, whatever the model takes.
   */
  readonly media?: MediaBudget | false;
  /** When and how the conversation is compacted. Default: `overflow()` and `summarize()`; `false`: only when asked. */
  readonly compact?: CompactionChoice | false;
  /**
   * Windows and prices, by `provider:model` or by the model alone, where the catalogue has none or
   * the user knows better.
   */
  readonly limits?: Readonly<Record<string, ModelLimits>>;
  /** Where all other windows and prices come from. Default: `modelCatalogue()`. */
  readonly catalogue?: ModelCatalogue;
  /** How texts are counted. Default: `defaultEstimator`. */
  readonly estimator?: TokenEstimator;
  /**
   * Asked how large a prompt is that is about to be compacted, where our estimate may be wrong about
   * that. Default: nobody, and the estimate decides.
   */
  readonly counter?: TokenCounter;
}

/** Two choices that combine. */
export interface CompactionChoice {
  readonly when: CompactionWhen;
  readonly how: CompactionStrategy;
}

const usual: CompactionChoice = { when: overflow(), how: summarize() };

/** The choice of an agent; undefined where it is never compacted by itself. */
export function compactionChoice(options: ContextOptions = {}): CompactionChoice | undefined {
  const { compact = usual } = options;
  return compact === false ? undefined : compact;
}

/** How it is compacted when it is asked for without saying how. */
export function compactionHow(options: ContextOptions = {}): CompactionStrategy {
  return (compactionChoice(options) ?? usual).how;
}

/** What a model takes of media, as far as that or what the user wants is known. */
export function mediaLimits(
  model: ModelName,
  { media = {} }: ContextOptions = {},
): MediaLimits | undefined {
  return limitedMedia(modelMedia(model), media === false ? {} : media);
}

/** @throws TurnlogError `INVALID_INPUT` for a share that is none, or a budget below nothing. */
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
