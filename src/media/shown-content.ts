/**
 * What a model is shown for content in events, blobs and downloads: the content, a smaller image, the text of a
 * file, or a note.
 */

import {
  mediaRefusal,
  SCALED_CHARACTERS,
  type MediaLimits,
  type MediaRefusal,
} from "../context/index.ts";
import type { KnownBlob } from "../projections/index.ts";
import { called } from "./file-data.ts";
import { isTextType, textIn, UNKNOWN_TYPE } from "./media-type.ts";
import type { ScaledPicture, ScalePicture } from "./scaled-picture.ts";

export interface Viewer {
  /** The limits of the model; undefined for an unknown model. */
  readonly media: MediaLimits | undefined;
  /** Number of images in the prompt. */
  readonly pictures: number;
  /** Makes smaller copies of images, if a library is installed. */
  readonly scaler: () => Promise<ScalePicture | undefined>;
}

export interface FoundFile {
  readonly blob: KnownBlob;
  /** Undefined if the content is missing. */
  readonly read: (() => Uint8Array | Promise<Uint8Array>) | undefined;
  readonly name?: string | undefined;
  /** The reference or URL of the content. */
  readonly place?: string;
}

export interface Note {
  readonly note: string;
  /** The file may be available at the next request. */
  readonly isMissing?: true;
}

const whiteSpace: ReadonlySet<number> = new Set([9, 10, 11, 12, 13, 32]);

/** Calls `read` only if it shows the content, and throws its errors. */
export async function shownContent(file: FoundFile, viewer: Viewer): Promise<ScaledPicture | Note> {
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

export function noteOf(
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
