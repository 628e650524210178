/** The simplest compaction: the model is no longer shown the oldest turns. */

import { amount, check, optionsOf } from "../../validation/index.ts";
import type { CompactionStrategy } from "./compaction-strategy.ts";
import { beginsWithUser, covering, cuttable } from "./cut.ts";

export interface DropOldestOptions {
  /** The number of newest turns to keep, at least one. */
  readonly keepTurns: number;
}

const schema = optionsOf<DropOldestOptions>({}, { keepTurns: amount });

/**
 * Shows the newest `keepTurns` turns only; one more if they begin without a request, as a resumed turn does.
 * A request of an older turn is lost, also if that turn failed and a later message only says that the work
 * goes on. Nothing takes the place of what is dropped.
 * @example
 * const context: ContextOptions = { compact: { when: tokens(50_000), how: dropOldest({ keepTurns: 5 }) } };
 * @throws TurnlogError `INVALID_INPUT` if `keepTurns` is missing or not a number
 */
export function dropOldest(options: DropOldestOptions): CompactionStrategy {
  check(schema, options, "dropOldest", { name: "options" });
  const { keepTurns } = options;
  return {
    name: "drop-oldest",
    forgetsRequest: true,
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
