/** `blob.*`: large content that lies beside the log. */

import { z } from "zod";
import type { FamilySchemas } from "./family.ts";

export interface BlobFamily {
  "blob.stored": {
    /** Lower-case hexadecimal. */
    readonly sha256: string;
    readonly mediaType: string;
    readonly bytes: number;
  };
}

export const blobSchemas: FamilySchemas<BlobFamily> = {
  "blob.stored": z.looseObject({
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    mediaType: z.string(),
    bytes: z.int().nonnegative(),
  }),
};
