/** Decides what is sent for one file of a prompt: the bytes of a blob or a download, a smaller copy, or a note. */

import { byId, readBlob, referredBlob, type BlobStore, type ModelName } from "../events/index.ts";
import type { MediaLimits } from "../context/index.ts";
import type { BlobsState } from "../projections/index.ts";
import type { AddressContent } from "./address-content.ts";
import { base64Of, type FoundContent } from "./base64-text.ts";
import { measured } from "./blob-offload.ts";
import { called, fileData } from "./file-data.ts";
import { isFull, mediaTypeOf, UNKNOWN_TYPE } from "./media-type.ts";
import type { ScaledPicture } from "./scaled-picture.ts";
import { noteOf, shownContent, type FoundFile, type Note, type Viewer } from "./shown-content.ts";

export interface BlobExpansion extends Viewer {
  readonly blobs: BlobsState;
  /** The store of the blobs; undefined without blobs. */
  readonly store: BlobStore | undefined;
  /** Undefined for an unknown model. */
  readonly model: ModelName | undefined;
  /** Downloads a URL; undefined if URLs are sent unchanged. */
  readonly read: ((url: URL, declared: string) => Promise<AddressContent>) | undefined;
}

/** What is sent for a file: its bytes as base64, a note, or the unchanged part. */
export type SentFile = (
  | { readonly data: string; readonly mediaType: string }
  | Note
  | typeof asItIs
) & {
  /** The file may be available at the next request. */
  readonly isMissing?: true;
};

export const asItIs = { isAsItIs: true } as const;

export interface NamedFile {
  readonly mediaType?: string | undefined;
  readonly filename?: string | undefined;
  /** Its data may be base64 without a `data:` URL. */
  readonly isBare?: boolean;
  /** The model generated it, so its URL is not downloaded. */
  readonly isMade?: boolean;
  /** It is part of a tool result. */
  readonly isAnswer?: boolean;
}

export async function sentFile(
  data: string,
  part: NamedFile,
  given: BlobExpansion,
): Promise<SentFile> {
  const expansion = part.isAnswer === true ? { ...given, media: inAnswers(given.media) } : given;
  const found = fileData(data, part.isBare);
  switch (found.kind) {
    case "named":
      return asItIs;
    case "content":
      return await inTheEvent(found.read(), found.isTaken, part, expansion);
    case "reference":
      return await contentOf(data, part, expansion);
    case "address":
      return part.isMade === true ? asItIs : await addressed(found.url, part, expansion);
    case "broken":
      return { note: unsized(part, `it is broken: ${found.why}`) };
  }
}

/** If text files are limited in messages, none are sent in tool results: provider clients leave them out. */
function inAnswers(media: MediaLimits | undefined): MediaLimits | undefined {
  return media?.textFiles === undefined ? media : { ...media, textFiles: [] };
}

/** Content in an event is shown by the same rules as a blob. */
async function inTheEvent(
  { content, declared }: FoundContent,
  isTaken: boolean,
  part: NamedFile,
  expansion: BlobExpansion,
): Promise<SentFile> {
  const mediaType = await mediaTypeOf(content, declared ?? part.mediaType);
  const blob = { mediaType, ...measured(content, mediaType) };
  const file = { blob, read: () => content, name: part.filename };
  const sent = await shownContent(file, expansion);
  if ("note" in sent) return sent;
  const isSame = sent.content === content && mediaType === part.mediaType;
  return isSame && isTaken ? asItIs : sentOf(sent);
}

async function addressed(url: URL, part: NamedFile, expansion: BlobExpansion): Promise<SentFile> {
  const { mediaType = UNKNOWN_TYPE } = part;
  if (expansion.read === undefined) return { ...asItIs, isMissing: true };
  const found = await expansion.read(url, mediaType);
  switch (found.kind) {
    case "provider":
      return asItIs;
    case "aborted":
      // The call was cancelled; the next call downloads again.
      return { note: unsized(part, "nobody waited for it", url), isMissing: true };
    case "none":
      return { note: unsized(part, found.why, url), isMissing: true };
    case "content": {
      const { content, blob } = found;
      const file = { blob, read: () => content, name: part.filename, place: url.href };
      return sentOf(await shownContent(file, expansion));
    }
  }
}

function sentOf(shown: ScaledPicture | Note): SentFile {
  if ("note" in shown) return shown;
  return { data: base64Of(shown.content), mediaType: shown.mediaType };
}

function unsized({ mediaType, filename }: NamedFile, why: string, url?: URL): string {
  const kind = mediaType === undefined ? "" : ` (${mediaType})`;
  return `[The file${called(filename)}${kind} is not shown here: ${why}.${url === undefined ? "" : ` ${url.href}`}]`;
}

async function contentOf(
  reference: string,
  part: NamedFile,
  expansion: BlobExpansion,
): Promise<SentFile> {
  const { blobs, store } = expansion;
  const name = part.filename;
  const sha256 = referredBlob(reference);
  const blob = sha256 === undefined ? undefined : byId(blobs.stored, sha256);
  if (sha256 === undefined || blob === undefined) {
    return { note: `[A file stood here, and this session has none of that name: ${reference}]` };
  }
  const read = store === undefined ? undefined : () => readBlob(store, sha256);
  const file = { blob, read, name, place: reference };
  try {
    return sentOf(await shownContent((await asNamed(file, part)) ?? file, expansion));
  } catch {
    // `verify` reports the fault, and the session continues.
    return { note: noteOf(file, "it cannot be read"), isMissing: true };
  }
}

/**
 * Where the bytes do not decide, the type declared here counts: they may have been sent earlier with another
 * type. Undefined if no other type is declared.
 */
async function asNamed(
  file: FoundFile,
  { mediaType: declared = "" }: NamedFile,
): Promise<FoundFile | undefined> {
  const isOther = declared !== file.blob.mediaType && isFull(declared);
  if (file.read === undefined || !isOther) return undefined;
  const content = await file.read();
  const mediaType = await mediaTypeOf(content, declared);
  if (mediaType === UNKNOWN_TYPE) return undefined;
  return { ...file, blob: { mediaType, ...measured(content, mediaType) }, read: () => content };
}
