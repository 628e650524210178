/**
 * Whether a prompt can contain what an event says. The schemas say what a log may hold, and take what
 * earlier releases wrote; these rules are narrower. A program's append is refused by them, `verify`
 * reports what breaks them, and the folds show something else in its place. Pure.
 */

import type { EventBody } from "./catalogue.ts";
import { isNestedDeeper, jsonObjectSchema, MOST_LEVELS, type ProviderMetadata } from "./json.ts";
import type { StoredUserContent } from "./message-events.ts";
import { outputFault } from "./model-output.ts";

/** Levels of an event's own fields around a value. */
const OWN_LEVELS = 10;

/** Why no prompt can contain what an event says, in words; undefined where one can. */
export function contentFault({ type, data }: EventBody): string | undefined {
  if (isNestedDeeper(data, MOST_LEVELS + OWN_LEVELS))
    return `its data is nested more than ${MOST_LEVELS} levels deep`;
  switch (type) {
    case "tool.succeeded":
    case "tool.failed": {
      const fault = data.modelOutput === undefined ? undefined : outputFault(data.modelOutput);
      return fault && `what the tool gives the model is not valid: ${fault}`;
    }
    case "message.queued":
      return sendableContent(data.content) === data.content ? undefined : NO_OPTIONS;
    case "part.source":
      // No prompt has a source.
      return undefined;
    default: {
      if (!("providerMetadata" in data) || data.providerMetadata === undefined) return undefined;
      const { providerMetadata } = data;
      return sendableMetadata(providerMetadata) === providerMetadata ? undefined : NO_METADATA;
    }
  }
}

const NO_OPTIONS = "its `providerOptions` are not all objects, by the provider's name";
const NO_METADATA = "its `providerMetadata` are not all objects, by the provider's name";

/** What goes back to providers, without entries that are no object: every prompt with one is refused. */
export function sendableMetadata(metadata: ProviderMetadata): ProviderMetadata {
  const entries = Object.entries(metadata);
  const sent = entries.filter(([, own]) => jsonObjectSchema.safeParse(own).success);
  return sent.length === entries.length ? metadata : Object.fromEntries(sent);
}

/** The same for what a user said. */
export function sendableContent(content: StoredUserContent): StoredUserContent {
  if (typeof content === "string") return content;
  const sent = content.map((part) => {
    if (part.providerOptions === undefined) return part;
    const providerOptions = sendableMetadata(part.providerOptions);
    return providerOptions === part.providerOptions ? part : { ...part, providerOptions };
  });
  return sent.every((part, index) => part === content[index]) ? content : sent;
}
