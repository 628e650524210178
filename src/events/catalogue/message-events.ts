/** `message.*`: messages of users, from acceptance to delivery to the model. */

import { z } from "zod";
import { blobMeasuresSchema, type BlobMeasures } from "../values/blob-measures.ts";
import type { FamilySchemas } from "./family.ts";
import {
  jsonObjectSchema,
  jsonSchema,
  providerMetadataSchema,
  type JsonObject,
  type JsonValue,
  type ProviderMetadata,
} from "../values/json.ts";
import { fileReferenceSchema, type FileReference } from "../values/file-reference.ts";

/** Content of a user message: the AI SDK's user content with binary data as base64 and URLs as text. */
export type StoredUserContent = string | readonly StoredUserPart[];

export type StoredUserPart =
  | {
      readonly type: "text";
      readonly text: string;
      /** The file that the text is the content of. */
      readonly filename?: string;
      readonly providerOptions?: ProviderMetadata;
    }
  | {
      readonly type: "file";
      /** Base64, a `data:` or `http(s):` URL, or `@blob:<sha256>`. Of an uploaded file: its names by provider. */
      readonly data: string | FileReference;
      readonly mediaType: string;
      readonly filename?: string;
      readonly blob?: BlobMeasures;
      readonly providerOptions?: ProviderMetadata;
    };

/** What an application says about a message. No model gets it. */
export interface MessageAbout {
  /** Shown again by pages. */
  readonly metadata?: JsonObject;
  /** The `data-*` parts of a page's message, each with its place among the parts. Shown again by pages. */
  readonly data?: readonly MessageData[];
  /** The context of the turn that the message begins. */
  readonly context?: JsonObject;
  /** The options of that turn for the agent's `prepareCall`. */
  readonly options?: JsonValue;
}

interface MessageData {
  readonly at: number;
  readonly type: string;
  readonly id?: string;
  readonly data: JsonValue;
}

/** `steer` is delivered at the next step boundary, `follow-up` when the turn has ended. */
export type Delivery = "steer" | "follow-up";

export interface MessageFamily {
  /** A message was accepted, and waits for its delivery. It is durable when `send` resolves. */
  "message.queued": {
    /** The id of the message, once a session. */
    readonly id: string;
    readonly content: StoredUserContent;
    readonly delivery: Delivery;
    /** Epoch milliseconds: the message waits at least until then. */
    readonly notBefore?: number;
    /** The name of the person who sent it. */
    readonly by?: string;
    readonly about?: MessageAbout;
  };
  /** The messages leave the queue and enter the history, in one event. */
  "message.delivered": {
    readonly ids: readonly string[];
    readonly turn: number;
    /** Whether they begin the turn, or join it before a step. */
    readonly boundary: "turn" | "step";
  };
  /**
   * Changes when a waiting message is delivered. With `notBefore` it waits at least until then, and has no
   * place in the queue. Without, it takes the last place if it had none; otherwise its place stays. The
   * runtime records it too when the time of a message has come.
   */
  "message.rescheduled": {
    /** The `id` of `message.queued`. */
    readonly id: string;
    readonly delivery: Delivery;
    /** Epoch milliseconds. */
    readonly notBefore?: number;
  };
  /** Waiting messages are taken back and will not be delivered. */
  "message.withdrawn": {
    readonly ids: readonly string[];
    /** Why, as the caller said it. */
    readonly reason?: string;
    /** The name of the person who withdrew them. */
    readonly by?: string;
  };
}

export const userContentSchema: z.ZodType<StoredUserContent> = z.lazy(() =>
  z.union([
    z.string(),
    z.array(
      z.discriminatedUnion("type", [
        z.looseObject({
          type: z.literal("text"),
          text: z.string(),
          filename: z.string().exactOptional(),
          providerOptions: providerMetadataSchema.exactOptional(),
        }),
        z.looseObject({
          type: z.literal("file"),
          data: z.union([z.string(), fileReferenceSchema]),
          mediaType: z.string(),
          filename: z.string().exactOptional(),
          blob: blobMeasuresSchema.exactOptional(),
          providerOptions: providerMetadataSchema.exactOptional(),
        }),
      ]),
    ),
  ]),
);

export const messageAboutSchema: z.ZodType<MessageAbout> = z.lazy(() =>
  z.looseObject({
    metadata: jsonObjectSchema.exactOptional(),
    data: z
      .array(
        z.looseObject({
          at: z.int().nonnegative(),
          type: z.string().regex(/^data-./),
          id: z.string().exactOptional(),
          data: jsonSchema,
        }),
      )
      .exactOptional(),
    context: jsonObjectSchema.exactOptional(),
    options: jsonSchema.exactOptional(),
  }),
);

export const messageSchemas: FamilySchemas<MessageFamily> = {
  "message.queued": () =>
    z.looseObject({
      id: z.string(),
      content: userContentSchema,
      delivery: z.enum(["steer", "follow-up"]),
      notBefore: z.number().exactOptional(),
      by: z.string().exactOptional(),
      about: messageAboutSchema.exactOptional(),
    }),
  "message.delivered": () =>
    z.looseObject({
      ids: z.array(z.string()),
      turn: z.int().positive(),
      boundary: z.enum(["turn", "step"]),
    }),
  "message.rescheduled": () =>
    z.looseObject({
      id: z.string(),
      delivery: z.enum(["steer", "follow-up"]),
      notBefore: z.number().exactOptional(),
    }),
  "message.withdrawn": () =>
    z.looseObject({
      ids: z.array(z.string()),
      reason: z.string().exactOptional(),
      by: z.string().exactOptional(),
    }),
};
