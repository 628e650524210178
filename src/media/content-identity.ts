/**
 * What a message says, as one text: equal for the same content, however it is written down. A file is
 * its digest, its type and its name, whether its bytes lie in the event or beside the log. Stores nothing.
 */

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
  // The name of a file at a provider, or an address.
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

/** Its type follows from its bytes, and may have been recorded more exactly than it was said. */
function binary(
  { mediaType: _type, ...file }: { readonly mediaType: string },
  digest: string,
): object {
  return { ...file, data: digest };
}
