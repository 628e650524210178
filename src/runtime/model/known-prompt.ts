/**
 * Lets the AI SDK convert each message of a prompt once, not in each step: a call passes only the new
 * messages to the SDK, and a middleware puts the converted earlier ones in front. The model gets the same
 * prompt.
 */

import type {
  LanguageModelV4Message,
  LanguageModelV4Middleware,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import { wrapLanguageModel, type LanguageModel, type ModelMessage } from "ai";
import { nameOf, type Caching } from "../../agent/index.ts";
import { ownCopy } from "../../events/index.ts";
import { withCaching } from "./cache-marks.ts";
import { promptCopy } from "./prompt-copy.ts";

/** The converted messages of a model: a cache that lives as long as both. */
type Conversions = WeakMap<ModelMessage, LanguageModelV4Message>;

const conversionsFor = new WeakMap<object, Conversions>();

export interface ShorterCall {
  readonly model: LanguageModel;
  /** The messages that the SDK has to convert. Empty only if the prompt is. */
  readonly messages: ModelMessage[];
}

/** The same prompt for the same model, with fewer messages to convert. */
export function shorterCall(
  model: LanguageModel,
  prompt: readonly ModelMessage[],
  caching?: Caching,
): ShorterCall {
  // The SDK looks up a model by its name.
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
      const whole = { ...params, prompt: promptCopy([...instructions, ...known, ...converted]) };
      return Promise.resolve(withCaching(whole, nameOf(model), caching));
    },
  };
  return { model: wrapLanguageModel({ model, middleware }), messages: fresh };
}

/** The known conversions at the beginning, up to a message that the SDK can convert separately. */
function knownBefore(prompt: readonly ModelMessage[], conversions: Conversions) {
  const known: LanguageModelV4Prompt = [];
  for (const message of prompt) {
    const conversion = conversions.get(message);
    if (conversion === undefined) break;
    known.push(conversion);
  }
  // The SDK joins consecutive tool messages, and requires at least one message.
  while (known.length > 0 && !beginsAnew(prompt[known.length])) known.pop();
  return known;
}

function beginsAnew(message: ModelMessage | undefined): boolean {
  return message !== undefined && message.role !== "tool";
}

/** If the SDK joined or dropped messages, the lengths differ and nothing can be matched. */
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
