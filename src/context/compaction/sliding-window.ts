/** A compaction without a model: shows the newest messages that fit. */

import { check, amount, optionsOf } from "../../validation/index.ts";
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
import { requestTexts } from "./request-text.ts";
import { runningRequest } from "./running-request.ts";

/** Introduces the request of a turn whose beginning is hidden. */
const REQUEST_NOTE =
  "[Earlier messages are no longer shown. The request that is being worked on was:]";

export interface SlidingWindowOptions {
  /** Tokens of messages to keep. Default: half of the messages' budget, or 40,000, less a repeated request. */
  readonly tokens?: number;
}

const schema = optionsOf<SlidingWindowOptions>({ tokens: amount }, {});

/**
 * Shows the newest messages only. They begin at a turn's request, if at least half of the tokens remain, else
 * anywhere in a long turn, after its request word by word.
 * @example
 * const preview = await session.preview({ compact: slidingWindow() });
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
        const requests = requestTexts(runningRequest(history.items, to), history.turn, budget);
        return [REQUEST_NOTE, ...requests.values()].join("\n\n");
      };
      const behind = tokens === undefined ? keptBehind(prompt, budget, note(first)) : first;
      const kept = Math.max(first, behind);
      return covering(prompt, 0, kept, note(kept));
    },
  };
}

/** The next unit that begins a turn. Messages during a turn do not count: they do not contain its request. */
function nextRequest({ units }: Cuttable, from: number): number | undefined {
  const found = units.findIndex(
    (unit, index) => index >= from && unit.kind === "user" && unit.turn !== units[index - 1]?.turn,
  );
  return found === -1 ? undefined : found;
}
