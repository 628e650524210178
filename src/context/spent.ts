/** What a step has spent that nobody bills. */

import type { TokenUsage } from "../events/index.ts";
import { noUsage, type HistoryState, type UsageState } from "../projections/index.ts";
import { textTokens } from "./text-tokens.ts";

/** What the running step has spent, when the provider does not say: its prompt and what it has said. */
export function estimateSpent({ running }: UsageState, history: HistoryState): TokenUsage {
  // Between a failed attempt whose spending was told and the next one.
  if (running === undefined || running.isTold === true) return noUsage;
  const said = (history.open?.parts ?? []).reduce((sum, part) => {
    switch (part.kind) {
      case "text":
      case "reasoning":
        return sum + textTokens(part.text);
      case "call":
      case "provider-call":
        return sum + textTokens(part.toolName + JSON.stringify(part.input));
      default:
        return sum;
    }
  }, 0);
  return {
    basis: "estimated",
    inputTokens: running.estimate.tokens,
    outputTokens: Math.ceil(said),
  };
}
