/** The plainest way of compacting: the model is no longer shown the oldest turns. */

import { amount, check, optionsOf } from "../validation/index.ts";
import type { CompactionStrategy } from "./compaction-strategy.ts";
import { beginsWithUser, covering, cuttable } from "./cut.ts";

/** How much {@link dropOldest} keeps. */
export interface DropOldestOptions {
  /** Turns that are kept, at least one. */
  readonly keepTurns: number;
}

const schema = optionsOf<DropOldestOptions>({}, { keepTurns: amount });

/**
 * Shows the newest `keepTurns` turns only, and one more where they do not begin with what a user
 * said (a turn that was resumed).
 * @throws TurnlogError `INVALID_INPUT` without `keepTurns`, or where it is no number of turns
 */
export function dropOldest(options: DropOldestOptions): CompactionStrategy {
  check(schema, options, "dropOldest", { name: "options" });
  const { keepTurns } = options;
  return {
    name: "drop-oldest",
    plan(history, view, budget) {
      const prompt = cuttable(history, view, budget);
      const oldest = history.turn - Math.max(1, keepTurns);
      let first = prompt.units.findIndex(({ turn }) => turn > oldest);
      if (first === -1) first = prompt.units.length - 1;
      while (first > 0 && !beginsWithUser(prompt, first)) first--;
      return covering(prompt, 0, first, "");
    },
  };
}
