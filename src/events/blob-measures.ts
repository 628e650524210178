/** What is known of a blob without reading it, stored with each reference. */

import { z } from "zod";
import { isDigest } from "./blob-reference.ts";

/** Measures of a blob, stored with each reference: a prompt can be measured without reading the blob. */
export interface BlobMeasures {
  readonly bytes: number;
  /** Of pictures: pixels, after rotation. */
  readonly width?: number;
  readonly height?: number;
  /** Of documents: the number of pages. */
  readonly pages?: number;
  /** Why the content cannot be shown, if it is broken. */
  readonly fault?: string;
}

const measures = {
  bytes: z.int().nonnegative(),
  width: z.int().positive().exactOptional(),
  height: z.int().positive().exactOptional(),
  pages: z.int().positive().exactOptional(),
  fault: z.string().exactOptional(),
};

/** Parses {@link BlobMeasures}. */
export const blobMeasuresSchema: z.ZodType<BlobMeasures> = z.looseObject(measures);

export const digestSchema: z.ZodType<string> = z.string().refine(isDigest);

/** The measures that a message part gives with its reference. */
export function measuresIn(part: object): BlobMeasures | undefined {
  return "blob" in part && part.blob !== undefined
    ? blobMeasuresSchema.safeParse(part.blob).data
    : undefined;
}
