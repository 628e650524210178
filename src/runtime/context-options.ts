/** What an agent's user says of the context: what is known of its model, and how tokens are counted. */

import type { ModelCatalogue, ModelLimits, TokenEstimator } from "../context/index.ts";

export interface ContextOptions {
  /**
   * Windows and prices, by `provider:model` or by the model alone, where the catalogue has none or
   * the user knows better.
   */
  readonly limits?: Readonly<Record<string, ModelLimits>>;
  /** Where all other windows and prices come from. Default: `modelCatalogue()`. */
  readonly catalogue?: ModelCatalogue;
  /** How texts are counted. Default: `defaultEstimator`. */
  readonly estimator?: TokenEstimator;
}
