/** The face of `context`: what the model gets to see, and what that costs. Pure. */

export { CallIds, withCallIds } from "./call-ids.ts";
export { checkpoint, type CheckpointOptions } from "./checkpoint.ts";
export {
  type CompactionPlan,
  type CompactionStrategy,
  type PlanningGround,
  type SummaryReply,
  type SummaryRequest,
  type SummaryWriter,
} from "./compaction-strategy.ts";
export {
  compactionDue,
  manual,
  overflow,
  threshold,
  tokens,
  usable,
  type CompactionWhen,
} from "./compaction-when.ts";
export { dropMiddle, type DropMiddleOptions } from "./drop-middle.ts";
export { dropOldest, type DropOldestOptions } from "./drop-oldest.ts";
export { newestTokens, onlyThisTurn, unsentMessages } from "./last-resort.ts";
export { DEFAULT_LOOP_LIMITS, isLooping, type LoopLimits } from "./loop-guard.ts";
export { estimateContext, type ContextEstimate, type EstimateInput } from "./context-estimate.ts";
export { sessionCost, type Cost, type SessionCost } from "./cost.ts";
export {
  limitedMedia,
  planOmission,
  SCALED_CHARACTERS,
  type MediaBudget,
  type OmissionInput,
  type OmissionPlan,
} from "./media-budget.ts";
export {
  asBase64,
  mediaRefusal,
  modelMedia,
  type MediaLimits,
  type MediaRefusal,
} from "./model-media.ts";
export { mediaMeasures, mediaTokens } from "./media-tokens.ts";
export { noteElsewhere, whyNotThere } from "./provider-files.ts";
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
export { planningGround } from "./planning-ground.ts";
export { promptCache, SHORTEST_LIFETIME_MS, type PromptCache } from "./prompt-cache.ts";
export {
  planPruning,
  pruneSchema,
  PRUNE_DEFAULTS,
  type PruneOptions,
  type PruningInput,
  type PruningPlan,
} from "./pruning.ts";
export { planCuts, type CutInput, type CutPlan } from "./result-cuts.ts";
export { resultPage } from "./result-page.ts";
export { cutSchema, pageLimit, resultShare, type CutOptions } from "./result-share.ts";
export { summarize, type SummarizeOptions } from "./summarize.ts";
export { slidingWindow, type SlidingWindowOptions } from "./sliding-window.ts";
export {
  defaultEstimator,
  lengthEstimator,
  tokenizer,
  type TokenEstimator,
  type TokenizerOptions,
} from "./token-estimator.ts";
export { estimateSpent } from "./spent.ts";
