/** `blob.*`: large content that lies beside the log. */

import { z } from "zod";
import { blobMeasuresSchema, digestSchema, type BlobMeasures } from "./blob-reference.ts";
import type { FamilySchemas } from "./family.ts";

export interface BlobFamily {
  /**
   * A blob that the session has from here on: it was there, whole and synced, before this was
   * written. Comes once a session, in the same append as the first event that refers to it.
   */
  "blob.stored": BlobMeasures & {
    /** Lower-case hexadecimal. */
    readonly sha256: string;
    /** What its bytes are, by their own signature. */
    readonly mediaType: string;
  };
}

export const blobSchemas: FamilySchemas<BlobFamily> = {
  "blob.stored": z.intersection(
    z.looseObject({ sha256: digestSchema, mediaType: z.string() }),
    blobMeasuresSchema,
  ),
};
