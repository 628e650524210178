/** The model sees the newest messages, as many as have room. */

import { check, amount, optionsOf } from "../validation/index.ts";
import type { CompactionStrategy } from "./compaction-strategy.ts";
import {
  covering,
  cuttable,
  keptBehind,
  keptByDefault,
  keptWithin,
  tokensFrom,
  type Cuttable,
} from "./cut.ts";
import { latestRequests, requestTexts } from "./request-text.ts";

/** Stands before what is kept of a turn whose request is not. */
const REQUEST_NOTE =
  "[Earlier messages are no longer shown. The request that is being worked on was:]";

/** How much {@link slidingWindow} keeps. */
export interface SlidingWindowOptions {
  /**
   * Tokens of messages that are kept. Default: half of what messages may have, or 40,000, less
   * those of a request that is repeated.
   */
  readonly tokens?: number;
}

const schema = optionsOf<SlidingWindowOptions>({ tokens: amount }, {});

/**
 * Shows the newest messages only. It begins where a user speaks if that leaves at least half of
 * what may be kept; within a long turn it begins anywhere, with the request of that turn repeated word by word.
 */
export function slidingWindow(options: SlidingWindowOptions = {}): CompactionStrategy {
  check(schema, options, "slidingWindow", { name: "options" });
  const { tokens } = options;
  return {
    name: "sliding-window",
    plan(history, view, budget) {
      const prompt = cuttable(history, view, budget);
      const most = tokens ?? keptByDefault(budget);
      const first = keptWithin(prompt, most);
      if (first === 0) return undefined;
      const atRequest = nextRequest(prompt, first);
      if (atRequest !== undefined && tokensFrom(prompt, atRequest) >= most / 2) {
        return covering(prompt, 0, atRequest, "");
      }
      const note = (before: number): string => {
        const to = prompt.units[before - 1]?.to ?? 0;
        return [
          REQUEST_NOTE,
          ...requestTexts(latestRequests(history.items, to), history.turn, budget),
        ].join("\n\n");
      };
      const behind = tokens === undefined ? keptBehind(prompt, budget, note(first)) : first;
      const kept = Math.max(first, behind);
      return covering(prompt, 0, kept, note(kept));
    },
  };
}

/** The next piece that opens a turn: what is said while a turn runs does not tell what it is about. */
function nextRequest({ units }: Cuttable, from: number): number | undefined {
  const found = units.findIndex(
    (unit, index) => index >= from && unit.kind === "user" && unit.turn !== units[index - 1]?.turn,
  );
  return found === -1 ? undefined : found;
}
