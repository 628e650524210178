/** The face of `context`: what the model gets to see, and what that costs. Pure. */

export { type CompactionPlan, type CompactionStrategy } from "./compaction-strategy.ts";
export { dropOldest } from "./drop-oldest.ts";
export { estimateContext, type ContextEstimate, type EstimateInput } from "./context-estimate.ts";
export { sessionCost, type Cost, type SessionCost } from "./cost.ts";
export { mediaTokens } from "./media-tokens.ts";
export { modelCatalogue } from "./model-catalogue.ts";
export {
  callCost,
  modelLimits,
  type KnownLimits,
  type ModelCatalogue,
  type ModelLimits,
  type ModelPrices,
} from "./model-limits.ts";
export { meter, type MessageSize, type Meter } from "./message-size.ts";
export { promptCache, type PromptCache } from "./prompt-cache.ts";
export { planPruning, type PruneOptions, type PruningInput, type PruningPlan } from "./pruning.ts";
export {
  defaultEstimator,
  lengthEstimator,
  tokenizer,
  type TokenEstimator,
} from "./token-estimator.ts";
export { estimatePrompt, estimateSpent } from "./estimate.ts";
