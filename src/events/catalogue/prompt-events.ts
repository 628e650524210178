/** `prompt.*`: what requests have besides their messages. */

import { z } from "zod";
import { digestSchema } from "../values/blob-measures.ts";
import { jsonObjectSchema, type JsonObject } from "../values/json.ts";
import type { FamilySchemas } from "./family.ts";

/** A text begins and ends as an earlier one. Lengths are in UTF-16 code units. */
export interface TextLikeness {
  /** Of the earlier text, which is whole. */
  readonly digest: string;
  readonly head: number;
  readonly tail: number;
}

export interface PromptFamily {
  /**
   * The instructions, or the definition of one tool as JSON. Written once a session, before the first step that
   * uses it. Agents (`AgentDescription.parts`) name their texts by digest.
   */
  "prompt.text": {
    /** SHA-256 of the whole text. */
    readonly digest: string;
    /** With `like`: what is between the common beginning and the common end. */
    readonly text: string;
    /** An earlier text. This text begins and ends with the same words. */
    readonly like?: TextLikeness;
  };
  /** The settings of calls from here on: `temperature`, `toolChoice`, `providerOptions`, `responseFormat`, … */
  "prompt.configured": {
    /** All of them, not the difference. */
    readonly settings: JsonObject;
  };
}

export const likenessSchema: z.ZodType<TextLikeness> = z.lazy(() =>
  z.looseObject({
    digest: digestSchema,
    head: z.int().nonnegative(),
    tail: z.int().nonnegative(),
  }),
);

export const promptSchemas: FamilySchemas<PromptFamily> = {
  "prompt.text": () =>
    z.looseObject({
      digest: digestSchema,
      text: z.string(),
      like: likenessSchema.exactOptional(),
    }),
  "prompt.configured": () => z.looseObject({ settings: jsonObjectSchema }),
};
