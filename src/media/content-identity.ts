/** The identity of content as text, equal in any stored form: a file counts by digest, type and name. */

import { hash } from "node:crypto";
import {
  canonicalJson,
  referredBlob,
  type StoredUserContent,
  type StoredUserPart,
} from "../events/index.ts";
import { base64Content, dataUrlContent } from "./base64-text.ts";
import { isTextual } from "./media-type.ts";

export async function contentIdentity(content: StoredUserContent): Promise<string> {
  const parts: readonly StoredUserPart[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  return canonicalJson(await Promise.all(parts.map(partIdentity)));
}

async function partIdentity(part: StoredUserPart): Promise<unknown> {
  if (part.type === "text") return part;
  const { blob: _measures, ...file } = part;
  const { data } = part;
  // A file at a provider, or a URL.
  if (typeof data !== "string") return file;
  const stored = referredBlob(data);
  if (stored !== undefined) return binary(file, stored);
  const found = dataUrlContent(data);
  const content = found?.content ?? base64Content(data);
  if (content === undefined) return file;
  const declared = found?.declared ?? part.mediaType;
  const digest = hash("sha256", content);
  return (await isTextual(content, declared)) ? { ...file, data: digest } : binary(file, digest);
}

/** Without the type: it follows from the bytes, which may be recorded more exactly than declared. */
function binary(
  { mediaType: _type, ...file }: { readonly mediaType: string },
  digest: string,
): object {
  return { ...file, data: digest };
}
