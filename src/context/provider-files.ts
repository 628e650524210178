/**
 * Which of the files that lie with a provider a model is shown. Pure: by what the clients of the AI SDK
 * look for in a reference, and by the kinds that a model takes.
 */

import { placesOf, type FileElsewhere, type ModelName } from "../events/index.ts";
import type { MediaLimits } from "./model-media.ts";

/** Whose clients refuse references; and the gateway, behind which are others. */
const withoutFiles: ReadonlySet<string> = new Set([
  "alibaba",
  "amazon-bedrock",
  "cohere",
  "gateway",
  "groq",
  "mistral",
  "perplexity",
]);

/** What a client takes of a reference that names its provider; all of it where none is named. */
const taken: Readonly<Record<string, (mediaType: string) => boolean>> = {
  // Gemini is told the whole type.
  google: (mediaType) => /^[^/]+\/[^/*]+$/.test(mediaType),
  moonshotai: (mediaType) => /^(image|video)(\/|$)/.test(mediaType),
  deepseek: (mediaType) => /^image(\/|$)/.test(mediaType),
};

/** The name under which a model's client looks for a file; undefined where it looks for none. */
function holderOf({ provider }: ModelName): string | undefined {
  // Clouds that serve others' models do not have the files of those.
  if (/vertex|bedrock/i.test(provider)) return undefined;
  const [name = ""] = provider.split(".");
  if (name === "azure" && provider !== "azure.responses") return undefined;
  return withoutFiles.has(name) ? undefined : name;
}

/**
 * Why a model is not shown a file that lies with a provider, in words for the model; undefined where it is.
 * @param model - Undefined where nobody knows who is to be shown it: then nothing is held back.
 * @param limits - Undefined where nothing is known of what it takes.
 */
export function whyNotThere(
  { reference, mediaType }: FileElsewhere,
  model: ModelName | undefined,
  limits?: MediaLimits,
): string | undefined {
  if (model === undefined) return undefined;
  const holder = holderOf(model);
  if (holder === undefined || !Object.hasOwn(reference, holder)) {
    return "it lies with another provider";
  }
  // Which documents it takes is for its provider to say, which has them.
  const [kind = ""] = mediaType.split("/");
  const isKind = limits?.types?.some((type) => type.startsWith(kind)) ?? true;
  const isTaken = isKind && (taken[holder]?.(mediaType) ?? true);
  return isTaken ? undefined : "this model does not take such files";
}

/** What a model is told in the place of such a file. */
export function noteElsewhere(
  { reference, mediaType, filename }: FileElsewhere,
  why: string,
): string {
  const called = filename === undefined ? "" : ` ${JSON.stringify(filename)}`;
  return `[The file${called} (${mediaType}) is not shown here: ${why}. ${placesOf(reference)}]`;
}
