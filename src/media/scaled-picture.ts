/** Smaller copies of images that a model does not accept, by `sharp` if it is installed. Never recorded. */

import type sharpModule from "sharp";

export interface ScaledPicture {
  readonly content: Uint8Array;
  readonly mediaType: string;
}

interface ScaledSize {
  /** Pixels. */
  readonly longestEdge: number;
  /** Most characters as base64. */
  readonly characters: number;
}

/** Answers undefined if no copy can be made: the image is broken or still too large. */
export type ScalePicture = (
  content: Uint8Array,
  size: ScaledSize,
) => Promise<ScaledPicture | undefined>;

let installed: Promise<ScalePicture | undefined> | undefined;

/** Loads the library, if installed, when the first image needs it. */
export function installedScaler(): Promise<ScalePicture | undefined> {
  installed ??= load();
  return installed;
}

async function load(): Promise<ScalePicture | undefined> {
  try {
    const { default: sharp } = await import("sharp");
    return (content, size) => scaled(sharp, content, size);
  } catch {
    // The optional library is missing or does not support this machine: notes replace the images.
    return undefined;
  }
}

type Sharp = typeof sharpModule;

/** Pixels of an edge beyond which models see no more detail. */
const SEEN = 1568;

async function scaled(
  sharp: Sharp,
  content: Uint8Array,
  { longestEdge, characters }: ScaledSize,
): Promise<ScaledPicture | undefined> {
  try {
    const { format, hasAlpha } = await sharp(content).metadata();
    // Screenshots need PNG for their sharp edges. Of an animation the first frame is shown.
    const isDrawn = format === "png" || format === "gif";
    const edges = [longestEdge, longestEdge, longestEdge, Math.min(longestEdge, SEEN)];
    for (const [attempt, edge] of edges.entries()) {
      if (attempt === 0 && !isDrawn) continue;
      const small = sharp(content)
        .autoOrient()
        .resize({ width: edge, height: edge, fit: "inside", withoutEnlargement: true });
      const quality = attempt === 1 ? 85 : 60;
      const [made, mediaType] =
        attempt === 0
          ? [small.png(), "image/png"]
          : hasAlpha
            ? [small.webp({ quality }), "image/webp"]
            : [small.jpeg({ quality }), "image/jpeg"];
      const copy = await made.toBuffer();
      if (Math.ceil(copy.byteLength / 3) * 4 <= characters) return { content: copy, mediaType };
    }
    return undefined;
  } catch {
    // A note replaces the image, as without the library.
    return undefined;
  }
}
