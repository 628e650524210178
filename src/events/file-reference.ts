/** A file that lies with a provider, where somebody has uploaded it: named in an event, and not kept. */

import type { FileDataReference, ProviderReference } from "@ai-sdk/provider-utils";
import { z } from "zod";

/** In the place of content, as the AI SDK writes it: what each provider that has the file calls it. */
export type FileReference = FileDataReference;

/** The names of a file, by provider: one at least. */
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
  // Bytes are not looked through.
  if (Array.isArray(value) || ArrayBuffer.isView(value) || "type" in value) return false;
  const names: readonly unknown[] = Object.values(value);
  return names.length > 0 && names.every((name) => typeof name === "string" && name !== "");
}

/** What a part of a message or of a tool's answer says of a file that lies with a provider. */
export interface FileElsewhere {
  readonly reference: ProviderReference;
  readonly mediaType: string;
  readonly filename?: string;
}

/** Undefined for parts that have their content, or an address. In every form that the SDK takes, old ones too. */
export function fileElsewhere(part: object): FileElsewhere | undefined {
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

/** Parts of the older kinds have none: what the SDK takes them for. */
function mediaTypeOf(part: object): string {
  if ("mediaType" in part && typeof part.mediaType === "string") return part.mediaType;
  return "type" in part && String(part.type).startsWith("image") ? "image" : "application";
}

/** Where a file lies, in words: `openai: file-123`. */
export function placesOf(reference: ProviderReference): string {
  return Object.entries(reference)
    .map(([provider, name]) => `${provider}: ${name}`)
    .join(", ");
}
