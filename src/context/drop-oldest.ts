/** The plainest way of compacting: the model is no longer shown the oldest turns. */

import type { CompactionStrategy } from "./compaction-strategy.ts";

/** Shows the newest `keepTurns` turns only. Cuts between turns, so no call is parted from its result. */
export function dropOldest({ keepTurns }: { readonly keepTurns: number }): CompactionStrategy {
  return {
    name: "drop-oldest",
    plan({ items, turn }) {
      const firstKept = items.find((item) => item.turn > turn - Math.max(1, keepTurns));
      const dropped = items.filter(
        (item) => firstKept === undefined || item.position < firstKept.position,
      );
      const [from, to] = [dropped[0]?.position, dropped.at(-1)?.position];
      if (from === undefined || to === undefined) return undefined;
      return { covers: { from, to }, summary: "" };
    },
  };
}
