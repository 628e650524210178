/** What a strategy plans by, from the estimate that made it due. */

import type { PlanBudget } from "./compaction-strategy.ts";
import { usable, type CompactionWhen } from "./compaction-when.ts";
import type { ContextEstimate } from "./context-estimate.ts";
import type { Meter } from "./message-size.ts";

/**
 * The ground for a plan: messages may have what the limit leaves beside instructions and tools, so
 * that a strategy which keeps half of that leaves room to grow until the limit is reached again.
 * @param most tokens that a prompt may have at all. Default: what its model takes, as far as that is known.
 */
export function planBudget(
  when: CompactionWhen,
  estimate: ContextEstimate,
  meter: Meter,
  most: number | undefined = usable(estimate),
): PlanBudget {
  const { instructions, tools } = estimate.breakdown;
  const beside = (whole: number): number => Math.max(0, whole - instructions - tools);
  const limit = when.limit(estimate);
  return {
    meter,
    factor: estimate.recorded.factor ?? 1,
    ...(limit === undefined ? {} : { messageTokens: beside(limit) }),
    ...(most === undefined ? {} : { windowTokens: beside(most) }),
  };
}
