/**
 * What a model is shown of content that is at hand: the content, a smaller copy of a picture, the words of
 * a text, or a note that says why it is not shown. One rule, wherever the content was kept.
 */

import { SCALED_CHARACTERS, type MediaLimits } from "../context/index.ts";
import type { KnownBlob } from "../projections/index.ts";
import { called } from "./file-data.ts";
import { whyNotShown } from "./media-taken.ts";
import { isTextType, textIn } from "./media-type.ts";
import type { ScaledPicture, ScalePicture } from "./scaled-picture.ts";

/** Who is to be shown it. */
export interface Viewer {
  /** What the model takes; undefined where nothing is known of it. */
  readonly media: MediaLimits | undefined;
  /** How many pictures there are in the prompt. */
  readonly pictures: number;
  /** Who makes smaller copies of pictures, if anybody does. */
  readonly scaler: () => Promise<ScalePicture | undefined>;
}

/** Content of which is known what it is. */
export interface FoundFile {
  readonly blob: KnownBlob;
  /** Undefined where nobody has it. */
  readonly read: (() => Uint8Array | Promise<Uint8Array>) | undefined;
  readonly name?: string | undefined;
  /** A reference or an address that tells it again. */
  readonly place?: string;
}

/** What is shown in its place. */
export interface Note {
  readonly note: string;
  /** Where it may be another the next time. */
  readonly isMissing?: true;
}

/** Throws what `read` throws; reads nothing where the answer is a note anyway. */
export async function shownContent(file: FoundFile, viewer: Viewer): Promise<ScaledPicture | Note> {
  const { blob, read } = file;
  const refused = whyNotShown(blob, viewer.media, viewer.pictures);
  if (read === undefined) {
    const why = refused?.why ?? "it is not at hand";
    return { note: noteOf(file, why), isMissing: true };
  }
  if (refused === undefined) return { content: await read(), mediaType: blob.mediaType };
  const { longestEdge, isTypeRefused, why } = refused;
  if (longestEdge !== undefined) {
    const scale = await viewer.scaler();
    const copy = await scale?.(await read(), { longestEdge, characters: SCALED_CHARACTERS });
    if (copy !== undefined) return copy;
  }
  // Every model takes words.
  if (isTypeRefused === true && isTextType(blob.mediaType)) {
    const text = textIn(await read());
    if (text !== undefined) return { note: inWords(file, text) };
  }
  return { note: noteOf(file, why) };
}

function inWords({ blob: { mediaType }, name }: FoundFile, text: string): string {
  return `[The file${called(name)} (${mediaType}):]\n\n${text}`;
}

/** What stands in the place of a file that is not shown. */
export function noteOf(
  { blob: { mediaType, bytes }, name, place }: Omit<FoundFile, "read">,
  why: string,
): string {
  const where = place === undefined ? "" : ` ${place}`;
  return `[The file${called(name)} (${mediaType}, ${bytes} bytes) is not shown here: ${why}.${where}]`;
}
