/** The plainest way of compacting: the model is no longer shown the oldest turns. */

import type { CompactionStrategy } from "./compaction-strategy.ts";
import { beginsWithUser, covering, cuttable } from "./cut.ts";

/**
 * Shows the newest `keepTurns` turns only, and one more where they do not begin with what a user
 * said (a turn that was resumed).
 */
export function dropOldest({ keepTurns }: { readonly keepTurns: number }): CompactionStrategy {
  return {
    name: "drop-oldest",
    plan(history, view, ground) {
      const prompt = cuttable(history, view, ground);
      const oldest = history.turn - Math.max(1, keepTurns);
      let first = prompt.units.findIndex(({ turn }) => turn > oldest);
      if (first === -1) first = prompt.units.length - 1;
      while (first > 0 && !beginsWithUser(prompt, first)) first--;
      return covering(prompt, 0, first, "");
    },
  };
}
