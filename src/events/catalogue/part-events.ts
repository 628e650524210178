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
  readonly id: string;
  readonly providerMetadata?: ProviderMetadata;
}

/** `dropped` marks reasoning that an earlier release trimmed: the model is no longer shown it. */
interface Droppable {
  readonly dropped?: true;
}

interface Call {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input?: JsonValue;
  readonly providerExecuted?: boolean;
  readonly dynamic?: boolean;
  readonly title?: string;
  readonly providerMetadata?: ProviderMetadata;
  readonly toolMetadata?: JsonObject;
}

interface File {
  /** Base64, or a reference to a blob: `@blob:<sha256>`. */
  readonly data: string;
  readonly mediaType: string;
  readonly blob?: BlobMeasures;
  readonly providerMetadata?: ProviderMetadata;
}

export interface PartFamily {
  "part.start-step": { readonly warnings: readonly JsonValue[] };
  "part.text-start": Block;
  "part.text-delta": Block & { readonly text: string };
  "part.text-end": Block & { readonly citations?: JsonValue };
  "part.reasoning-start": Block & Droppable;
  "part.reasoning-delta": Block & Droppable & { readonly text: string };
  "part.reasoning-end": Block & Droppable;
  "part.tool-input-start": Block & {
    readonly toolName: string;
    readonly inputEncoding?: "json" | "text";
    readonly providerExecuted?: boolean;
    readonly dynamic?: boolean;
    readonly title?: string;
    readonly toolMetadata?: JsonObject;
  };
  "part.tool-input-delta": Block & { readonly delta: string };
  "part.tool-input-end": Block;
  /** An invalid call has the error; it is answered without running a tool. */
  "part.tool-call": Call & { readonly invalid?: boolean; readonly error?: StoredError };
  /** The result of a tool that the provider ran. Results of our own tools are `tool.*` events. */
  "part.tool-result": Call & { readonly output: JsonValue; readonly preliminary?: boolean };
  "part.tool-error": Call & { readonly error: JsonValue };
  "part.tool-approval-request": {
    readonly approvalId: string;
    readonly toolCallId: string;
    readonly reason?: string;
    readonly signature?: string;
    readonly isAutomatic?: boolean;
  };
  "part.source": JsonObject;
  /** In imported sessions, `data` may name an uploaded file. */
  "part.file": Omit<File, "data"> & { readonly data: string | FileReference };
  "part.reasoning-file": File & Droppable;
  "part.custom": { readonly kind: string; readonly providerMetadata?: ProviderMetadata };
  "part.raw": Droppable & { readonly rawValue: JsonValue };
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
