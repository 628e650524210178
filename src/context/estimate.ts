/** The floor: how large a prompt is by its length alone, and what a step has spent that nobody bills. */

import type { ModelMessage } from "ai";
import type { PromptEstimate, TokenUsage } from "../events/index.ts";
import {
  noUsage,
  promptCharacters,
  type HistoryState,
  type UsageState,
} from "../projections/index.ts";
import { textTokens } from "./text-tokens.ts";

/**
 * A token of English text or code is about four characters; base64 and CJK text have fewer.
 * OpenAI, "What are tokens and how to count them?".
 */
const CHARACTERS_PER_TOKEN = 4;

function tokensOf(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** Estimated tokens of a whole prompt; `fixedCharacters` are those of instructions and tool definitions. */
export function estimatePrompt(
  fixedCharacters: number,
  messages: readonly ModelMessage[],
): PromptEstimate {
  return { tokens: tokensOf(fixedCharacters + promptCharacters(messages)), basis: "length" };
}

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
