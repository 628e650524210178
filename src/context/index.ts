/** Decides what the model sees: estimates, limits of models, and planners that make prompts smaller. Pure. */

export {
  add,
  type Amount,
  type Budget,
  callsSince,
  dayOf,
  leastCost,
  nothing,
  passedLimit,
  periodOf,
  type PricedCall,
  type BillCell,
  BillCells,
  billCellsSchema,
  billDimensions,
  type BillQuery,
  type BillRow,
  billRows,
  type BillSums,
  noPayer,
  paid,
  type Payer,
  payerSchema,
} from "./spending/who-pays.ts";
export {
  type WhatIf,
  whatIfSchema,
  type Cost,
  type SessionCost,
  addCost,
  sessionCost,
  estimateSpent,
  turnsCost,
} from "./spending/cost.ts";
export { byImportance } from "./compaction/by-importance.ts";
export { checkpoint } from "./compaction/checkpoint.ts";
export type {
  CompactionPlan,
  CompactionStrategy,
  PlanBudget,
  SummaryReply,
  SummaryRequest,
  SummaryWriter,
} from "./compaction/compaction-strategy.ts";
export {
  type CompactionDue,
  type CompactionFacts,
  type CompactionWhen,
  aimOf,
  coldCache,
  compactionDue,
  everyTurns,
  idle,
  limitOf,
  manual,
  overflow,
  threshold,
  tokens,
  usable,
  planBudget,
} from "./compaction/compaction-when.ts";
export { type ContextEstimate, estimateContext, resized } from "./estimate/context-estimate.ts";
export { toolsText } from "./estimate/tools-text.ts";
export { dropMiddle, dropOldest, slidingWindow } from "./compaction/dropping.ts";
export {
  newestTokens,
  onlyTheNewest,
  onlyThisTurn,
  onlyThisTurnAtLast,
  unsentMessages,
} from "./compaction/last-resort.ts";
export { DEFAULT_LOOP_LIMITS, type LoopLimits, isLooping } from "./loop-guard.ts";
export {
  type MediaBudget,
  SCALED_CHARACTERS,
  type ShownMedium,
  limitedMedia,
  planOmission,
  shownMedia,
} from "./shortening/media-budget.ts";
export { mediaMeasures } from "./estimate/media-tokens.ts";
export { type Meter, meter } from "./estimate/message-size.ts";
export {
  type CacheLifetime,
  type CacheReads,
  cacheRule,
  SHORTEST_LIFETIME_MS,
  type ModelFamily,
  modelFamily,
} from "./models/model-family.ts";
export {
  modelCatalogue,
  shippedCatalogue,
  type KnownLimits,
  type ModelCatalogue,
  type ModelLimits,
  type ModelPrices,
  callCost,
  uncheckedCallCost,
  modelLimits,
} from "./models/model-limits.ts";
export {
  type MediaLimits,
  type MediaRefusal,
  mediaRefusal,
  modelMedia,
  uploadNote,
  uploadRefusal,
} from "./models/model-media.ts";
export {
  marksPay,
  type PromptCache,
  promptCache,
  PRUNE_DEFAULTS,
  type PruneOptions,
  planPruning,
  pruneSchema,
} from "./shortening/pruning.ts";
export {
  planInputCuts,
  planCuts,
  type CutOptions,
  cutSchema,
  pageLimit,
  resultShare,
  resultPage,
} from "./shortening/result-cuts.ts";
export { withRunningRequest } from "./compaction/running-request.ts";
export { SentMessages, nameRefusal } from "./sent/messages.ts";
export { summarize } from "./compaction/summarize.ts";
export {
  type TokenEstimator,
  defaultEstimator,
  factorPrior,
  tokenizer,
} from "./estimate/token-estimator.ts";
