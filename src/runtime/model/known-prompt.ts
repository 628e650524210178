/**
 * Has the AI SDK convert each message of a prompt for its model once, not once for each step: a
 * call hands over the messages that are new, and those before them are put back in front of them
 * on their way to the model. Called by the light step source; nothing but speed depends on it.
 */

import type {
  LanguageModelV4Message,
  LanguageModelV4Middleware,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import { wrapLanguageModel, type LanguageModel, type ModelMessage } from "ai";
import { ownCopy } from "../../events/index.ts";

/** What was made of a message for a model; forgotten with either of them. */
type Conversions = WeakMap<ModelMessage, LanguageModelV4Message>;

const conversionsFor = new WeakMap<object, Conversions>();

export interface ShorterCall {
  readonly model: LanguageModel;
  /** Those that the SDK has to convert. Never empty when the prompt is not. */
  readonly messages: ModelMessage[];
}

/** The same call to the same model, with fewer messages to convert. */
export function shorterCall(model: LanguageModel, prompt: readonly ModelMessage[]): ShorterCall {
  // A model that goes by its name is looked up by the SDK itself.
  if (typeof model === "string") return { model, messages: ownCopy([...prompt]) };
  const conversions = conversionsFor.get(model) ?? new WeakMap();
  conversionsFor.set(model, conversions);
  const known = knownBefore(prompt, conversions);
  const fresh = prompt.slice(known.length);
  const middleware: LanguageModelV4Middleware = {
    specificationVersion: "v4",
    transformParams: ({ params }) => {
      const start = params.prompt.findIndex(({ role }) => role !== "system");
      const converted = params.prompt.slice(start);
      remember(conversions, fresh, converted);
      const instructions = params.prompt.slice(0, start);
      // A provider or a middleware that changes its prompt changes this call's alone.
      return Promise.resolve({
        ...params,
        prompt: ownCopy([...instructions, ...known, ...converted]),
      });
    },
  };
  return { model: wrapLanguageModel({ model, middleware }), messages: fresh };
}

/** What is known of the messages at the beginning, up to where a new one may stand by itself. */
function knownBefore(prompt: readonly ModelMessage[], conversions: Conversions) {
  const known: LanguageModelV4Prompt = [];
  for (const message of prompt) {
    const conversion = conversions.get(message);
    if (conversion === undefined) break;
    known.push(conversion);
  }
  // The SDK makes one of tool messages that follow each other, and wants one message at least.
  while (known.length > 0 && !beginsAnew(prompt[known.length])) known.pop();
  return known;
}

function beginsAnew(message: ModelMessage | undefined): boolean {
  return message !== undefined && message.role !== "tool";
}

/** Where the SDK joined messages or left one out, it is not known which became which. */
function remember(
  conversions: Conversions,
  fresh: readonly ModelMessage[],
  converted: LanguageModelV4Prompt,
): void {
  if (fresh.length !== converted.length) return;
  for (const [index, message] of fresh.entries()) {
    const conversion = converted[index];
    if (conversion !== undefined) conversions.set(message, conversion);
  }
}
