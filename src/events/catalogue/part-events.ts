/** `part.*`: every stream part of the AI SDK, unchanged. It belongs to the running step, without its number. */

import { z } from "zod";
import { blobMeasuresSchema, type BlobMeasures } from "../values/blob-measures.ts";
import type { FamilySchemas } from "./family.ts";
import {
  jsonObjectSchema,
  jsonSchema,
  providerMetadataSchema,
  storedErrorSchema,
  type JsonObject,
  type JsonValue,
  type ProviderMetadata,
  type StoredError,
} from "../values/json.ts";
import { fileReferenceSchema, type FileReference } from "../values/file-reference.ts";

interface Block {
  /** The block: its start, its deltas and its end have the same, once a step. */
  readonly id: string;
  readonly providerMetadata?: ProviderMetadata;
}

interface Droppable {
  /** An earlier release trimmed this reasoning: the model is no longer shown it. */
  readonly dropped?: true;
}

interface Call {
  readonly toolCallId: string;
  readonly toolName: string;
  /** What the tool is called with. */
  readonly input?: JsonValue;
  /** The provider runs the call. */
  readonly providerExecuted?: boolean;
  /** The tool is not one of the agent's: it was offered while the program ran. */
  readonly dynamic?: boolean;
  /** The name of the tool for people. */
  readonly title?: string;
  readonly providerMetadata?: ProviderMetadata;
  /** What the program says about the tool. */
  readonly toolMetadata?: JsonObject;
}

interface File {
  /** Base64, or a reference to a blob: `@blob:<sha256>`. */
  readonly data: string;
  /** For instance `image/png`. */
  readonly mediaType: string;
  /** The measures of the content, if it is a blob. */
  readonly blob?: BlobMeasures;
  readonly providerMetadata?: ProviderMetadata;
}

export interface PartFamily {
  /** The model begins to answer. */
  "part.start-step": {
    /** Of the provider, for instance about settings that it does not have. */
    readonly warnings: readonly JsonValue[];
  };
  /** A block of text begins. */
  "part.text-start": Block;
  /** A piece of text. */
  "part.text-delta": Block & {
    /** The piece; a block's text is all of its pieces together. */
    readonly text: string;
  };
  /** A block of text is complete. */
  "part.text-end": Block & {
    /** The sources of the text, as the provider gives them. */
    readonly citations?: JsonValue;
  };
  /** A block of reasoning begins. */
  "part.reasoning-start": Block & Droppable;
  /** A piece of reasoning. */
  "part.reasoning-delta": Block &
    Droppable & {
      /** The piece. */
      readonly text: string;
    };
  /** A block of reasoning is complete. */
  "part.reasoning-end": Block & Droppable;
  /** The model begins to write the input of a call. The block's id is that of the call. */
  "part.tool-input-start": Block & {
    readonly toolName: string;
    /** What the pieces are: JSON, which is the default, or plain text. */
    readonly inputEncoding?: "json" | "text";
    /** The provider runs the call. */
    readonly providerExecuted?: boolean;
    /** The tool is not one of the agent's: it was offered while the program ran. */
    readonly dynamic?: boolean;
    /** The name of the tool for people. */
    readonly title?: string;
    /** What the program says about the tool. */
    readonly toolMetadata?: JsonObject;
  };
  /** A piece of an input. */
  "part.tool-input-delta": Block & {
    /** The piece, as the model wrote it. */
    readonly delta: string;
  };
  /** An input is complete. */
  "part.tool-input-end": Block;
  /** A call is complete. Whether and how it runs is in `tool.*`. */
  "part.tool-call": Call & {
    /** No tool fits it: it is answered without running one. */
    readonly invalid?: boolean;
    /** Why it is invalid. */
    readonly error?: StoredError;
  };
  /** The result of a tool that the provider ran. Results of our own tools are `tool.*` events. */
  "part.tool-result": Call & {
    /** What the tool returned. */
    readonly output: JsonValue;
    /** Another result follows. */
    readonly preliminary?: boolean;
  };
  /** A tool that the provider ran has failed. */
  "part.tool-error": Call & {
    /** As the provider gives it. */
    readonly error: JsonValue;
  };
  /** The provider asks whether it may run one of its own calls. */
  "part.tool-approval-request": {
    readonly approvalId: string;
    readonly toolCallId: string;
    /** Why it asks. */
    readonly reason?: string;
    /** Of the AI SDK, to prove who asked. */
    readonly signature?: string;
    /** A rule answers, and no person. */
    readonly isAutomatic?: boolean;
  };
  /** A source of the answer, as the AI SDK gives it: `sourceType`, `id`, `url`, `title`. */
  "part.source": JsonObject;
  /** A file that the model made. */
  "part.file": Omit<File, "data"> & {
    /** Base64, or a reference to a blob: `@blob:<sha256>`. Of an uploaded file: its names by provider. */
    readonly data: string | FileReference;
  };
  /** A file that the model made while it reasoned. */
  "part.reasoning-file": File & Droppable;
  /** A part that only one provider has. */
  "part.custom": {
    /** The provider and the name of the part, for instance `openai.compaction`. */
    readonly kind: string;
    readonly providerMetadata?: ProviderMetadata;
  };
  /** What the provider sent, unread, if the agent asks for it. */
  "part.raw": Droppable & {
    readonly rawValue: JsonValue;
  };
  /** The provider reports an error inside of its stream. */
  "part.error": { readonly error: StoredError };
}

const providerMetadata = providerMetadataSchema.exactOptional();
const block = { id: z.string(), providerMetadata };
const dropped = z.literal(true).exactOptional();
const reasoning = { ...block, dropped };
const call = {
  toolCallId: z.string(),
  toolName: z.string(),
  input: jsonSchema.exactOptional(),
  providerExecuted: z.boolean().exactOptional(),
  dynamic: z.boolean().exactOptional(),
  title: z.string().exactOptional(),
  providerMetadata,
  toolMetadata: jsonObjectSchema.exactOptional(),
};
const file = {
  data: z.string(),
  mediaType: z.string(),
  blob: blobMeasuresSchema.exactOptional(),
  providerMetadata,
};

export const partSchemas: FamilySchemas<PartFamily> = {
  "part.start-step": () => z.looseObject({ warnings: z.array(jsonSchema) }),
  "part.text-start": () => z.looseObject(block),
  "part.text-delta": () => z.looseObject({ ...block, text: z.string() }),
  "part.text-end": () => z.looseObject({ ...block, citations: jsonSchema.exactOptional() }),
  "part.reasoning-start": () => z.looseObject(reasoning),
  "part.reasoning-delta": () => z.looseObject({ ...reasoning, text: z.string() }),
  "part.reasoning-end": () => z.looseObject(reasoning),
  "part.tool-input-start": () =>
    z.looseObject({
      ...block,
      toolName: z.string(),
      inputEncoding: z.enum(["json", "text"]).exactOptional(),
      providerExecuted: z.boolean().exactOptional(),
      dynamic: z.boolean().exactOptional(),
      title: z.string().exactOptional(),
      toolMetadata: jsonObjectSchema.exactOptional(),
    }),
  "part.tool-input-delta": () => z.looseObject({ ...block, delta: z.string() }),
  "part.tool-input-end": () => z.looseObject(block),
  "part.tool-call": () =>
    z.looseObject({
      ...call,
      invalid: z.boolean().exactOptional(),
      error: storedErrorSchema.exactOptional(),
    }),
  "part.tool-result": () =>
    z.looseObject({
      ...call,
      output: jsonSchema,
      preliminary: z.boolean().exactOptional(),
    }),
  "part.tool-error": () => z.looseObject({ ...call, error: jsonSchema }),
  "part.tool-approval-request": () =>
    z.looseObject({
      approvalId: z.string(),
      toolCallId: z.string(),
      reason: z.string().exactOptional(),
      signature: z.string().exactOptional(),
      isAutomatic: z.boolean().exactOptional(),
    }),
  "part.source": () => jsonObjectSchema,
  "part.file": () => z.looseObject({ ...file, data: z.union([z.string(), fileReferenceSchema]) }),
  "part.reasoning-file": () => z.looseObject({ ...file, dropped }),
  "part.custom": () => z.looseObject({ kind: z.string(), providerMetadata }),
  "part.raw": () => z.looseObject({ rawValue: jsonSchema, dropped }),
  "part.error": () => z.looseObject({ error: storedErrorSchema }),
};
