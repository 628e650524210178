/** Offloads the files of a user message, and the files that a model generates. */

import {
  resemblesReference,
  TurnlogError,
  type StoredUserContent,
  type StoredUserPart,
} from "../events/index.ts";
import type { RecordedPart } from "../agent/index.ts";
import { base64Content, dataUrlContent } from "./base64-text.ts";
import type { BlobOffload } from "./blob-offload.ts";
import { isTextual } from "./media-type.ts";

type StoredFile = Extract<StoredUserPart, { readonly type: "file" }>;

export type MadeFile = Extract<
  RecordedPart,
  { readonly type: "part.file" | "part.reasoning-file" }
>;

/** @throws TurnlogError `BLOB_TOO_LARGE`, `INVALID_INPUT` for a reference to a blob of another session */
export async function offloadedInput(
  session: string,
  content: StoredUserContent,
  offload: BlobOffload,
): Promise<StoredUserContent> {
  if (typeof content === "string") return content;
  const parts: StoredUserPart[] = [];
  for (const part of content) {
    parts.push(part.type === "file" ? await offloadedFile(session, part, offload) : part);
  }
  return parts;
}

async function offloadedFile(
  session: string,
  part: StoredFile,
  offload: BlobOffload,
): Promise<StoredFile> {
  const { data } = part;
  // A file at a provider has no content here.
  if (typeof data !== "string") return part;
  if (resemblesReference(data)) return knownFile(session, part, data, offload);
  const found = dataUrlContent(data);
  const content = found?.content ?? base64Content(data);
  if (content === undefined) return part;
  const declared = found?.declared ?? part.mediaType;
  // Text stays in the event, where it can be searched and counted.
  if (await isTextual(content, declared)) return part;
  const offloaded = await offload.offload(content, declared);
  return isUnchanged(offloaded, declared) ? part : { ...part, ...offloaded };
}

function knownFile(
  session: string,
  part: StoredFile,
  reference: string,
  offload: BlobOffload,
): StoredFile {
  const known = offload.recall(reference);
  if (known !== undefined) return { ...part, ...known };
  throw new TurnlogError(
    "INVALID_INPUT",
    `Session ${session} has no blob ${reference}. Send the content itself: a message can refer only to blobs that the session has.`,
    { session },
  );
}

/** Small content of the declared type stays as it is. */
function isUnchanged(
  { blob, mediaType }: { readonly blob?: unknown; readonly mediaType: string },
  declared: string,
): boolean {
  return blob === undefined && mediaType === declared;
}

export function isMadeFile(part: RecordedPart): part is MadeFile {
  return part.type === "part.file" || part.type === "part.reasoning-file";
}

export async function offloadedPart(part: MadeFile, offload: BlobOffload): Promise<MadeFile> {
  const { data, mediaType } = part.data;
  if (typeof data !== "string") return part;
  const known = offload.recall(data);
  if (known !== undefined) return { ...part, data: { ...part.data, ...known } };
  const content = base64Content(data);
  if (content === undefined || (await isTextual(content, mediaType))) return part;
  const offloaded = await offload.offload(content, mediaType);
  return isUnchanged(offloaded, mediaType)
    ? part
    : { ...part, data: { ...part.data, ...offloaded } };
}
