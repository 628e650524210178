/** Converts messages of the AI SDK to plain JSON: binary data to base64, URLs to text, files to one form. */

import { convertUint8ArrayToBase64 } from "@ai-sdk/provider-utils";
import type { AssistantContent } from "ai";
import { uploadedFile, MOST_LEVELS, TurnlogError, type FileReference } from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";

export type ReplyPart = Exclude<AssistantContent, string>[number];

/** @throws TurnlogError `INVALID_INPUT` for a value that is nested too deeply or contains itself */
export function withPlainData(value: unknown, levels: number = MOST_LEVELS): unknown {
  if (value instanceof URL) return value.href;
  if (value instanceof ArrayBuffer) return convertUint8ArrayToBase64(new Uint8Array(value));
  if (value instanceof Uint8Array) return convertUint8ArrayToBase64(value);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (levels === 0) {
    const what = `A value in the messages is nested more than ${MOST_LEVELS} levels deep`;
    throw new TurnlogError("INVALID_INPUT", what);
  }
  const plain = (inner: unknown): unknown => withPlainData(inner, levels - 1);
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

/** Base64, a URL, or the reference of a provider's file. @throws TurnlogError `INVALID_INPUT` */
export function fileData(data: unknown): string | FileReference {
  const elsewhere = uploadedFile({ data });
  if (elsewhere === undefined) return fileContent(data);
  return { type: "reference", reference: elsewhere.reference };
}

/** Base64 or a URL. @throws TurnlogError `INVALID_INPUT` */
export function fileContent(data: unknown): string {
  if (typeof data === "string") return data;
  if (typeof data === "object" && data !== null && "type" in data) {
    if ("data" in data && typeof data.data === "string") return data.data;
    if ("url" in data && typeof data.url === "string") return data.url;
    if ("text" in data && typeof data.text === "string") {
      return convertUint8ArrayToBase64(new TextEncoder().encode(data.text));
    }
  }
  throw new TurnlogError(
    "INVALID_INPUT",
    `A file in the messages has neither content nor a URL: ${JSON.stringify(toJson(data)).slice(0, 200)}.`,
  );
}
