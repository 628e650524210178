/**
 * A smaller copy of a picture that a model does not take as it is, made by `sharp` where somebody has
 * installed it. For one request: nothing of it is ever recorded, and what cannot be read is left alone.
 */

import type sharpModule from "sharp";

export interface ScaledPicture {
  readonly content: Uint8Array;
  readonly mediaType: string;
}

interface ScaledSize {
  /** Pixels. */
  readonly longestEdge: number;
  /** As base64, at most. */
  readonly characters: number;
}

/** Answers undefined where no copy can be made: the picture is broken, or too large for that too. */
export type ScalePicture = (
  content: Uint8Array,
  size: ScaledSize,
) => Promise<ScaledPicture | undefined>;

let installed: Promise<ScalePicture | undefined> | undefined;

/** The library, if there is one; looked for when the first picture needs it. */
export function installedScaler(): Promise<ScalePicture | undefined> {
  installed ??= load();
  return installed;
}

async function load(): Promise<ScalePicture | undefined> {
  try {
    const { default: sharp } = await import("sharp");
    return (content, size) => scaled(sharp, content, size);
  } catch {
    // It is optional, and may not be made for this machine: pictures are named then.
    return undefined;
  }
}

type Sharp = typeof sharpModule;

/** Edge beyond which no model looks at more. */
const SEEN = 1568;

async function scaled(
  sharp: Sharp,
  content: Uint8Array,
  { longestEdge, characters }: ScaledSize,
): Promise<ScaledPicture | undefined> {
  try {
    const { format, hasAlpha } = await sharp(content).metadata();
    // Screens have sharp edges, which only PNG keeps; of what moves, the first picture is shown.
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
    // Whatever is wrong with it: the model is told its name, as without a library.
    return undefined;
  }
}
