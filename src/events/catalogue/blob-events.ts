/** `blob.*`: large content that is stored outside of the log. */

import { z } from "zod";
import { blobMeasuresSchema, digestSchema, type BlobMeasures } from "../values/blob-measures.ts";
import type { FamilySchemas } from "./family.ts";

export interface BlobFamily {
  /** The session uses this durable blob from here on. Written once a session, before the first reference to it. */
  "blob.stored": BlobMeasures & {
    /** Lower-case hexadecimal. */
    readonly sha256: string;
    /** The type that the bytes' own signature shows. */
    readonly mediaType: string;
  };
}

export const blobSchemas: FamilySchemas<BlobFamily> = {
  "blob.stored": () =>
    z.intersection(
      z.looseObject({ sha256: digestSchema, mediaType: z.string() }),
      blobMeasuresSchema,
    ),
};
