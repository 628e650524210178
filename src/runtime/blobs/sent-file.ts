/**
 * One file of a prompt as it is sent: the bytes of a blob or of what an address holds, a smaller copy, or
 * a note that says why it is not shown. Called for the files of each message that has any to be followed.
 */

import {
  byId,
  readBlob,
  referredBlob,
  type BlobStore,
  type ModelName,
} from "../../events/index.ts";
import type { BlobsState, KnownBlob } from "../../projections/index.ts";
import { SCALED_CHARACTERS, type MediaLimits } from "../../context/index.ts";
import type { AddressContent } from "./address-content.ts";
import { fileData } from "./file-data.ts";
import { whyNotShown, type NotShown } from "./media-taken.ts";
import { UNKNOWN_TYPE } from "./media-type.ts";
import type { ScaledPicture, ScalePicture } from "./scaled-picture.ts";

export interface BlobExpansion {
  readonly blobs: BlobsState;
  /** Where they lie; undefined where nobody has them. */
  readonly store: BlobStore | undefined;
  /** What the model takes; undefined where nothing is known of it. */
  readonly media: MediaLimits | undefined;
  /** Who is shown them; undefined where nobody knows. */
  readonly model: ModelName | undefined;
  /** How many pictures there are in the prompt. */
  readonly pictures: number;
  /** Who makes smaller copies of pictures, if anybody does. */
  readonly scaler: () => Promise<ScalePicture | undefined>;
  /** What is behind an address; undefined where nobody is to be asked, and it stays what it is. */
  readonly read: ((url: URL, declared: string) => Promise<AddressContent>) | undefined;
}

/** A file as it is sent: its bytes as base64, what the model is told instead, or as it stands. */
export type SentFile = (
  | { readonly data: string; readonly mediaType: string }
  | { readonly note: string }
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
}

/** What becomes of the data of a file. */
export async function sentFile(
  data: string,
  part: NamedFile,
  expansion: BlobExpansion,
): Promise<SentFile> {
  const found = fileData(data, part.isBare);
  switch (found.kind) {
    case "content":
      return asItIs;
    case "inline": {
      const { content, declared = part.mediaType ?? UNKNOWN_TYPE } = found.found;
      return base64Of({ content, mediaType: declared });
    }
    case "reference":
      return await contentOf(data, part.filename, expansion);
    case "address":
      return part.isMade === true ? asItIs : await addressed(found.url, part, expansion);
    case "broken":
      return { note: unsized(part, `it is broken: ${found.why}`) };
  }
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
      const refused = whyNotShown(blob, expansion.media, expansion.pictures);
      const copy = refused === undefined ? sameContent : await smallerCopy(refused, expansion);
      const sent = await copy?.(content, blob.mediaType);
      if (sent === undefined)
        return { note: noteOf(url.href, blob, part.filename, refused?.why ?? "it cannot be read") };
      return base64Of(sent);
    }
  }
}

function base64Of({ content, mediaType }: ScaledPicture): SentFile {
  return { data: Buffer.from(content).toString("base64"), mediaType };
}

/** Of a file whose bytes nobody has. */
function unsized({ mediaType, filename }: NamedFile, why: string, url?: URL): string {
  const called = filename === undefined ? "" : ` ${JSON.stringify(filename)}`;
  const kind = mediaType === undefined ? "" : ` (${mediaType})`;
  return `[The file${called}${kind} is not shown here: ${why}.${url === undefined ? "" : ` ${url.href}`}]`;
}

async function contentOf(
  reference: string,
  name: string | undefined,
  expansion: BlobExpansion,
): Promise<SentFile> {
  const { blobs, store, media, pictures } = expansion;
  const sha256 = referredBlob(reference);
  const blob = sha256 === undefined ? undefined : byId(blobs.stored, sha256);
  if (sha256 === undefined || blob === undefined) {
    return { note: `[A file stood here, and this session has none of that name: ${reference}]` };
  }
  const note = (why: string): string => noteOf(reference, blob, name, why);
  const refused = whyNotShown(blob, media, pictures);
  const copy = refused === undefined ? sameContent : await smallerCopy(refused, expansion);
  if (refused !== undefined && copy === undefined) return { note: note(refused.why) };
  if (store === undefined) return { note: note("it is not at hand"), isMissing: true };
  try {
    const content = await readBlob(store, sha256);
    const sent = await copy?.(content, blob.mediaType);
    if (sent === undefined) return { note: note(refused?.why ?? "it cannot be read") };
    return base64Of(sent);
  } catch {
    // Whatever is wrong with it: `verify` says it, and the session goes on.
    return { note: note("it cannot be read"), isMissing: true };
  }
}

/** What is made of content so that it can be sent, or nothing. */
type Copy = (content: Uint8Array, mediaType: string) => Promise<ScaledPicture | undefined>;

const sameContent: Copy = (content, mediaType) => Promise.resolve({ content, mediaType });

/** Undefined where none would be taken either, or nobody makes one. */
async function smallerCopy(
  { longestEdge }: NotShown,
  { scaler }: BlobExpansion,
): Promise<Copy | undefined> {
  const scale = longestEdge === undefined ? undefined : await scaler();
  if (scale === undefined || longestEdge === undefined) return undefined;
  return (content) => scale(content, { longestEdge, characters: SCALED_CHARACTERS });
}

function noteOf(
  reference: string,
  { mediaType, bytes }: KnownBlob,
  name: string | undefined,
  why: string,
): string {
  const called = name === undefined ? "" : ` ${JSON.stringify(name)}`;
  return `[The file${called} (${mediaType}, ${bytes} bytes) is not shown here: ${why}. ${reference}]`;
}
