/** Why a model is not shown a blob as it is, by what is known of the blob and of what the model takes. Pure. */

import { mediaRefusal, type MediaLimits, type MediaRefusal } from "../context/index.ts";
import type { KnownBlob } from "../projections/index.ts";
import { UNKNOWN_TYPE } from "./media-type.ts";

export interface NotShown {
  /** In words for the model. */
  readonly why: string;
  /** Of a picture of which a smaller copy would be taken: pixels of its longer edge. */
  readonly longestEdge?: number;
  /** The model takes no files of its kind. */
  readonly isTypeRefused?: true;
}

/**
 * Undefined where it is shown.
 * @param limits - Undefined where nothing is known of the model: what is not known is sent.
 * @param pictures - How many the prompt has.
 */
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
