/** The model sees how it began and what is newest, and that something is missing between the two. */

import { check, amount, optionsOf } from "../validation/index.ts";
import { itemMessages } from "../projections/index.ts";
import type { CompactionStrategy } from "./compaction-strategy.ts";
import { covering, cuttable, keptByDefault, keptWithin, type Cuttable } from "./cut.ts";
import { latestRequests, requestText } from "./request-text.ts";

/** Stands before the request of the turn that goes on, where it lies in the middle. */
const REQUEST_NOTE = "[Among them the request that is being worked on:]";

/** How much of both ends {@link dropMiddle} keeps. */
export interface DropMiddleOptions {
  /** Tokens of the oldest messages that are kept, at the least the first. Default: a quarter of all that is kept. */
  readonly headTokens?: number;
  /** Tokens of the newest messages that are kept. Default: the rest of half of what messages may have. */
  readonly tailTokens?: number;
}

const schema = optionsOf<DropMiddleOptions>({ headTokens: amount, tailTokens: amount }, {});

/** Keeps the beginning and the end of the prompt; a note in between says how many messages are not shown. */
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
      const [from, to] = [prompt.units[head]?.from ?? 0, prompt.units[tail - 1]?.to ?? 0];
      const requests = latestRequests(history.items, to)
        .filter(({ turn, position }) => turn === history.turn && position >= from)
        .map(requestText);
      const latest = requests.length === 0 ? [] : [REQUEST_NOTE, ...requests];
      return covering(prompt, head, tail, [note, ...latest].join("\n\n"));
    },
  };
}

/**
 * After the first piece, unless that is too long for a window, as far as the tokens reach, and never
 * past what was covered before.
 */
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
