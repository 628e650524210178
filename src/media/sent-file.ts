/** Decides what is sent for one file of a prompt: the bytes of a blob or a download, a smaller copy, or a note. */

import { byId, readBlob, referredBlob, type BlobStore, type ModelName } from "../events/index.ts";
import {
  type MediaLimits,
  mediaRefusal,
  SCALED_CHARACTERS,
  type MediaRefusal,
} from "../context/index.ts";
import type { BlobsState, KnownBlob } from "../projections/index.ts";
import type { AddressContent } from "./address-content.ts";
import { base64Of, type FoundContent, called, fileData } from "./file-data.ts";
import { measured } from "./blob-offload.ts";
import { isFull, mediaTypeOf, UNKNOWN_TYPE, isTextType, textIn } from "./media-type.ts";
import type { ScaledPicture, ScalePicture } from "./scaled-picture.ts";

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

// What a model is shown for content in events, blobs and downloads: the content, a smaller image, the text of a
// file, or a note.

interface Viewer {
  /** The limits of the model; undefined for an unknown model. */
  readonly media: MediaLimits | undefined;
  /** Number of images in the prompt. */
  readonly pictures: number;
  /** Makes smaller copies of images, if a library is installed. */
  readonly scaler: () => Promise<ScalePicture | undefined>;
}

interface FoundFile {
  readonly blob: KnownBlob;
  /** Undefined if the content is missing. */
  readonly read: (() => Uint8Array | Promise<Uint8Array>) | undefined;
  readonly name?: string | undefined;
  /** The reference or URL of the content. */
  readonly place?: string;
}

interface Note {
  readonly note: string;
  /** The file may be available at the next request. */
  readonly isMissing?: true;
}

const whiteSpace: ReadonlySet<number> = new Set([9, 10, 11, 12, 13, 32]);

/** Calls `read` only if it shows the content, and throws its errors. */
async function shownContent(file: FoundFile, viewer: Viewer): Promise<ScaledPicture | Note> {
  const { blob, read } = file;
  const refused = whyNotShown(blob, viewer.media, viewer.pictures);
  if (read === undefined) {
    const why = refused?.why ?? "it is not at hand";
    return { note: noteOf(file, why), isMissing: true };
  }
  if (refused === undefined) {
    const content = await read();
    // Providers refuse a text document without a letter.
    return isTextType(blob.mediaType) && content.every((byte) => whiteSpace.has(byte))
      ? { note: noteOf(file, "it has nothing but white space") }
      : { content, mediaType: blob.mediaType };
  }
  const { longestEdge, isTypeRefused, why } = refused;
  if (longestEdge !== undefined) {
    const scale = await viewer.scaler();
    const copy = await scale?.(await read(), { longestEdge, characters: SCALED_CHARACTERS });
    if (copy !== undefined) return copy;
  }
  // All models accept text.
  if (isTypeRefused === true && isTextType(blob.mediaType)) {
    const text = textIn(await read());
    if (text !== undefined) return { note: inWords(file, text) };
  }
  return { note: noteOf(file, why) };
}

function inWords({ blob: { mediaType }, name }: FoundFile, text: string): string {
  return `[The file${called(name)} (${mediaType}):]\n\n${text}`;
}

function noteOf(
  { blob: { mediaType, bytes }, name, place }: Omit<FoundFile, "read">,
  why: string,
): string {
  const where = place === undefined ? "" : ` ${place}`;
  return `[The file${called(name)} (${mediaType}, ${bytes} bytes) is not shown here: ${why}.${where}]`;
}

interface NotShown {
  /** The reason, as text for the model. */
  readonly why: string;
  /** Pixels of the longer edge of a copy that the model would accept. */
  readonly longestEdge?: number;
  /** The model accepts no files of this type. */
  readonly isTypeRefused?: true;
}

/** Undefined if it is. `limits`: undefined for an unknown model, which is sent everything. */
export function whyNotShown(
  blob: KnownBlob,
  limits: MediaLimits | undefined,
  pictures: number,
): NotShown | undefined {
  if (blob.fault !== undefined) return { why: `it is broken: ${blob.fault}` };
  if (blob.mediaType === UNKNOWN_TYPE) return { why: "nobody knows what it is" };
  const refusal = limits && mediaRefusal(blob, limits, pictures);
  if (refusal === undefined) return undefined;
  const why = wordsOf(refusal, blob, pictures > (limits?.pictureEdgeAmong?.more ?? pictures));
  if (refusal.kind === "type") return { why, isTypeRefused: true };
  return "longestEdge" in refusal ? { why, longestEdge: refusal.longestEdge } : { why };
}

function wordsOf(refusal: MediaRefusal, { width, height }: KnownBlob, isAmong: boolean): string {
  switch (refusal.kind) {
    case "type":
      return "this model does not take such files";
    case "pages":
      return `this model takes at most ${refusal.most} pages`;
    case "request":
    case "characters":
      return `this model takes at most ${Math.floor((refusal.most * 3) / 4)} bytes`;
    case "edge": {
      const among = isAmong ? ", among so many pictures" : "";
      return `it has ${width} × ${height} pixels, and this model takes at most ${refusal.most} a side${among}`;
    }
  }
}
