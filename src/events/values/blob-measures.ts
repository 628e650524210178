/** The measures of a blob, stored with each reference: a prompt is measured without reading the blob. */

import { z } from "zod";
import { isDigest } from "./blob-reference.ts";

export interface BlobMeasures {
  /** Its size. */
  readonly bytes: number;
  /** Of pictures: pixels, after rotation. */
  readonly width?: number;
  /** Of pictures: pixels, after rotation. */
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

export const blobMeasuresSchema: z.ZodType<BlobMeasures> = z.looseObject(measures);

export const digestSchema: z.ZodType<string> = z.string().refine(isDigest);

export function measuresIn(part: object): BlobMeasures | undefined {
  return "blob" in part && part.blob !== undefined
    ? blobMeasuresSchema.safeParse(part.blob).data
    : undefined;
}
