/** A compaction without a model: shows the oldest and the newest messages, and a note between them. */

import { check, amount, optionsOf } from "../../validation/index.ts";
import { itemMessages } from "../../projections/index.ts";
import type { CompactionStrategy } from "./compaction-strategy.ts";
import { covering, cuttable, keptByDefault, keptWithin, type Cuttable } from "./cut.ts";

export interface DropMiddleOptions {
  /** Tokens of the oldest messages to keep, at least the first one. Default: a quarter of the kept tokens. */
  readonly headTokens?: number;
  /** Tokens of the newest messages to keep. Default: the rest of half of the messages' budget. */
  readonly tailTokens?: number;
}

const schema = optionsOf<DropMiddleOptions>({ headTokens: amount, tailTokens: amount }, {});

/**
 * Keeps the beginning and the end of the prompt; a note between them has the number of hidden messages.
 * @example
 * const context: ContextOptions = { compact: { when: overflow(), how: dropMiddle() } };
 */
export function dropMiddle(options: DropMiddleOptions = {}): CompactionStrategy {
  check(schema, options, "dropMiddle", { name: "options" });
  return {
    name: "drop-middle",
    plan(history, view, budget) {
      const prompt = cuttable(history, view, budget);
      const kept = keptByDefault(budget);
      const headTokens = options.headTokens ?? kept / 4;
      const tail = keptWithin(prompt, options.tailTokens ?? kept - headTokens);
      const head = headEnd(prompt, headTokens, (budget?.windowTokens ?? Infinity) / 2);
      if (head >= tail) return undefined;
      const hidden = prompt.units
        .slice(head, tail)
        .flatMap(({ items }) => items)
        .reduce((sum, item) => sum + itemMessages(item).length, 0);
      const note = `[${hidden} messages of this conversation are not shown here.]`;
      return covering(prompt, head, tail, note);
    },
  };
}

/** Keeps the first unit, unless it is too long for the window, and as many more as fit. Never a summary. */
function headEnd({ units, tokens }: Cuttable, most: number, longest: number): number {
  let sum = tokens[0] ?? 0;
  let end = units[0]?.kind === "summary" || sum > longest ? 0 : 1;
  while (end > 0 && end < units.length && units[end]?.kind !== "summary") {
    sum += tokens[end] ?? 0;
    if (sum > most) break;
    end++;
  }
  return end;
}
