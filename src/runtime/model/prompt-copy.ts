/**
 * Copies the prompt of a call: a provider or a middleware may change its own. Every step copies all messages,
 * so the fields that can be changed are known here; a copy that looks for them takes three times as long.
 */

import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { ownCopy } from "../../events/index.ts";

type Part = Exclude<LanguageModelV4Message["content"], string>[number];

export function promptCopy(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.map((message) => messageCopy(message));
}

function messageCopy(message: LanguageModelV4Message): LanguageModelV4Message {
  switch (message.role) {
    case "system":
      return withOptions({ ...message });
    case "user":
      return withOptions({ ...message, content: message.content.map(partCopy) });
    case "assistant":
      return withOptions({ ...message, content: message.content.map(partCopy) });
    case "tool":
      return withOptions({ ...message, content: message.content.map(partCopy) });
  }
}

function partCopy<One extends Part>(part: One): One {
  switch (part.type) {
    case "text":
    case "reasoning":
    case "tool-approval-response":
      return withOptions({ ...part });
    case "tool-call":
      return withOptions({ ...part, input: ownCopy(part.input) });
    case "tool-result": {
      const { output } = part;
      return withOptions({
        ...part,
        output: output.type === "text" ? withOptions({ ...output }) : ownCopy(output),
      });
    }
    default:
      return ownCopy(part);
  }
}

/** The given copy, with options of its own. */
function withOptions<Value extends { providerOptions?: Part["providerOptions"] }>(
  copy: Value,
): Value {
  if (copy.providerOptions !== undefined) copy.providerOptions = ownCopy(copy.providerOptions);
  return copy;
}
