/** The AI SDK's call settings, which an agent has at its top level. */

import type { LanguageModelCallOptions } from "ai";
import { ownCopy } from "../events/index.ts";

/** By name; a setting that the SDK adds does not compile until it is here. */
const settings: Readonly<Record<keyof LanguageModelCallOptions, true>> = {
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  topK: true,
  presencePenalty: true,
  frequencyPenalty: true,
  stopSequences: true,
  seed: true,
  reasoning: true,
};

export function callSettings(agent: LanguageModelCallOptions): LanguageModelCallOptions {
  return ownCopy(
    Object.fromEntries(
      Object.entries(agent).filter(
        ([name, value]) => Object.hasOwn(settings, name) && value !== undefined,
      ),
    ),
  );
}
