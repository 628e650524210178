/** The face of `context`: what the model gets to see, and what that costs. Pure. */

export { type CompactionPlan, type CompactionStrategy } from "./compaction-strategy.ts";
export { dropOldest } from "./drop-oldest.ts";
export { DEFAULT_LOOP_LIMITS, isLooping, type LoopLimits } from "./loop-guard.ts";
export { estimatePrompt, estimateSpent } from "./estimate.ts";
