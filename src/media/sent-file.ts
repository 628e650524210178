/**
 * One file of a prompt as it is sent: the bytes of a blob or of what an address holds, a smaller copy, or
 * a note that says why it is not shown. Called for the files of each message that has any to be followed.
 */

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
  /** Where they lie; undefined where nobody has them. */
  readonly store: BlobStore | undefined;
  /** Who is shown them; undefined where nobody knows. */
  readonly model: ModelName | undefined;
  /** What is behind an address; undefined where nobody is to be asked, and it stays what it is. */
  readonly read: ((url: URL, declared: string) => Promise<AddressContent>) | undefined;
}

/** A file as it is sent: its bytes as base64, what the model is told instead, or as it stands. */
export type SentFile = (
  | { readonly data: string; readonly mediaType: string }
  | Note
  | typeof asItIs
) & {
  /** Where it may be another the next time. */
  readonly isMissing?: true;
};

export const asItIs = { isAsItIs: true } as const;

/** What a file says of itself. */
export interface NamedFile {
  readonly mediaType?: string | undefined;
  readonly filename?: string | undefined;
  /** Where base64 alone may stand for content. */
  readonly isBare?: boolean;
  /** Where nobody fetches what addresses hold. */
  readonly isMade?: boolean;
  /** Of what a tool answers. */
  readonly isAnswer?: boolean;
}

/** What becomes of the data of a file. */
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

/** Where texts are no files of messages, they are none of answers: what a client does not send there, it leaves out. */
function inAnswers(media: MediaLimits | undefined): MediaLimits | undefined {
  return media?.textFiles === undefined ? media : { ...media, textFiles: [] };
}

/** Content that stayed in its event, small or not, is shown by the same rules as any other. */
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
      // A model that is not called is shown nothing else, and one that is asks again.
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

/** Of a file whose bytes nobody has. */
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
    // Whatever is wrong with it: `verify` says it, and the session goes on.
    return { note: noteOf(file, "it cannot be read"), isMissing: true };
  }
}

/**
 * The same bytes may have been sent under another name before, when nobody knew what they were: what is
 * said here is as good, where bytes cannot tell. Undefined where nothing else is said.
 */
async function asNamed(
  file: FoundFile,
  { mediaType: said = "" }: NamedFile,
): Promise<FoundFile | undefined> {
  if (file.read === undefined || said === file.blob.mediaType || !isFull(said)) return undefined;
  const content = await file.read();
  const mediaType = await mediaTypeOf(content, said);
  if (mediaType === UNKNOWN_TYPE) return undefined;
  return { ...file, blob: { mediaType, ...measured(content, mediaType) }, read: () => content };
}
