/** A file that was uploaded to a provider: an event has its name only. */

import type { FileDataReference, ProviderReference } from "@ai-sdk/provider-utils";
import { z } from "zod";

/** A file's names by provider, in the place of its content, as the AI SDK writes it. */
export type FileReference = FileDataReference;

export const providerReferenceSchema: z.ZodType<ProviderReference> = z.custom<ProviderReference>(
  isProviderReference,
  "is no reference to a file: a name for each provider that has it, and one at least",
);

export const fileReferenceSchema: z.ZodType<FileReference> = z.object({
  type: z.literal("reference"),
  reference: providerReferenceSchema,
});

function isProviderReference(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  // `Object.values` of bytes would list each of them.
  if (Array.isArray(value) || ArrayBuffer.isView(value) || "type" in value) return false;
  const names: readonly unknown[] = Object.values(value);
  return names.length > 0 && names.every((name) => typeof name === "string" && name !== "");
}

export interface UploadedFile {
  readonly reference: ProviderReference;
  readonly mediaType: string;
  readonly filename?: string;
}

/** The uploaded file of a part, in any form that the SDK accepts; undefined if the part has its content or a URL. */
export function uploadedFile(part: object): UploadedFile | undefined {
  const reference = referenceOf(part);
  if (reference === undefined) return undefined;
  const filename = "filename" in part ? part.filename : undefined;
  return {
    reference,
    mediaType: mediaTypeOf(part),
    ...(typeof filename === "string" ? { filename } : {}),
  };
}

function referenceOf(part: object): ProviderReference | undefined {
  if ("data" in part && typeof part.data === "object" && part.data !== null) {
    return providerReferenceSchema.safeParse(
      "reference" in part.data && "type" in part.data ? part.data.reference : part.data,
    ).data;
  }
  if ("providerReference" in part) {
    return providerReferenceSchema.safeParse(part.providerReference).data;
  }
  return "fileId" in part ? providerReferenceSchema.safeParse(part.fileId).data : undefined;
}

/** Parts of older forms have no media type: the SDK's default. */
function mediaTypeOf(part: object): string {
  if ("mediaType" in part && typeof part.mediaType === "string") return part.mediaType;
  return "type" in part && String(part.type).startsWith("image") ? "image" : "application";
}

/** The names of a file as text: `openai: file-123`. */
export function uploadNames(reference: ProviderReference): string {
  return Object.entries(reference)
    .map(([provider, name]) => `${provider}: ${name}`)
    .join(", ");
}
