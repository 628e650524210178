/** What the model gets to see: estimates, limits of models, planners that make prompts smaller. Pure. */

export {
  add,
  type Amount,
  type Budget,
  leastCost,
  nothingSpent,
  passedLimit,
  type Spent,
  spentBy,
  spentSince,
  spentSchema,
  spentWithin,
} from "./spending.ts";
export { byImportance } from "./by-importance.ts";
export { checkpoint } from "./checkpoint.ts";
export type {
  CompactionPlan,
  CompactionStrategy,
  PlanBudget,
  SummaryReply,
  SummaryRequest,
  SummaryWriter,
} from "./compaction-strategy.ts";
export {
  type CompactionWhen,
  compactionDue,
  manual,
  overflow,
  threshold,
  tokens,
  usable,
  planBudget,
} from "./compaction-when.ts";
export { type ContextEstimate, estimateContext } from "./context-estimate.ts";
export { type Cost, type SessionCost, sessionCost, estimateSpent, turnsCost } from "./cost.ts";
export { dropMiddle } from "./drop-middle.ts";
export { dropOldest } from "./drop-oldest.ts";
export {
  newestTokens,
  onlyTheNewest,
  onlyThisTurn,
  onlyThisTurnAtLast,
  unsentMessages,
} from "./last-resort.ts";
export { DEFAULT_LOOP_LIMITS, type LoopLimits, isLooping } from "./loop-guard.ts";
export {
  type MediaBudget,
  SCALED_CHARACTERS,
  type ShownMedium,
  limitedMedia,
  planOmission,
  shownMedia,
} from "./media-budget.ts";
export { mediaMeasures } from "./media-tokens.ts";
export { meter } from "./message-size.ts";
export { modelFamily } from "./model-family.ts";
export { modelCatalogue } from "./model-catalogue.ts";
export {
  type KnownLimits,
  type ModelCatalogue,
  type ModelLimits,
  type ModelPrices,
  callCost,
  modelLimits,
} from "./model-limits.ts";
export {
  type MediaLimits,
  type MediaRefusal,
  mediaRefusal,
  modelMedia,
  uploadNote,
  uploadRefusal,
} from "./model-media.ts";
export { type CacheLifetime, SHORTEST_LIFETIME_MS, marksPay, promptCache } from "./prompt-cache.ts";
export { PRUNE_DEFAULTS, type PruneOptions, planPruning, pruneSchema } from "./pruning.ts";
export { planInputCuts } from "./input-cuts.ts";
export { planCuts, type CutOptions, cutSchema, pageLimit, resultShare } from "./result-cuts.ts";
export { resultPage } from "./result-page.ts";
export { withRunningRequest } from "./running-request.ts";
export { SentMessages } from "./sent-messages.ts";
export { nameRefusal } from "./sent-names.ts";
export { slidingWindow } from "./sliding-window.ts";
export { summarize } from "./summarize.ts";
export { type TokenEstimator, defaultEstimator, tokenizer } from "./token-estimator.ts";
