/** How an event says that content lies beside the log: `@blob:<sha256>` in the place of the bytes. */

import { z } from "zod";

const PREFIX = "@blob:";
const DIGEST = /^[0-9a-f]{64}$/;

/** What is known of a blob where it is referred to, so that a prompt can be measured without it. */
export interface BlobMeasures {
  readonly bytes: number;
  /** Of pictures, in pixels, as they are shown. */
  readonly width?: number;
  readonly height?: number;
  /** Of documents. */
  readonly pages?: number;
  /** Why it cannot be shown, where it is broken. */
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

export const digestSchema: z.ZodType<string> = z.string().regex(DIGEST);

/** The reference to a blob. */
export function blobReference(sha256: string): string {
  return `${PREFIX}${sha256}`;
}

/** The digest in a reference; undefined for any other text. */
export function referredBlob(text: string): string | undefined {
  if (!text.startsWith(PREFIX)) return undefined;
  const digest = text.slice(PREFIX.length);
  return DIGEST.test(digest) ? digest : undefined;
}

/** Whether text looks as if it were a reference, complete or not. */
export function resemblesReference(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** What a part of a message says of the blob that it refers to, where it does. */
export function measuresIn(part: object): BlobMeasures | undefined {
  return "blob" in part && part.blob !== undefined
    ? blobMeasuresSchema.safeParse(part.blob).data
    : undefined;
}
