/** What a strategy plans by, from the estimate that made it due. */

import type { PlanningGround } from "./compaction-strategy.ts";
import type { CompactionWhen } from "./compaction-when.ts";
import type { ContextEstimate } from "./context-estimate.ts";
import type { Meter } from "./message-size.ts";

/**
 * The ground for a plan: messages may have what the limit leaves beside instructions and tools, so
 * that a strategy which keeps half of that leaves room to grow until the limit is reached again.
 */
export function planningGround(
  when: CompactionWhen,
  estimate: ContextEstimate,
  meter: Meter,
): PlanningGround {
  const { instructions, tools } = estimate.breakdown;
  const limit = when.limit(estimate);
  const ground = { meter, factor: estimate.recorded.factor ?? 1 };
  if (limit === undefined) return ground;
  return { ...ground, messageTokens: Math.max(0, limit - instructions - tools) };
}
