/** The blobs that a session may refer to, and their total size. */

import { z } from "zod";
import { blobMeasuresSchema, byIdSchema, type BlobMeasures } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

export interface KnownBlob extends BlobMeasures {
  readonly mediaType: string;
}

export interface BlobsState {
  /** By digest; shared ones of a fork included. */
  readonly stored: Readonly<Record<string, KnownBlob>>;
  readonly bytes: number;
}

export const blobs: Projection<BlobsState> = defineProjection<BlobsState>({
  name: "blobs",
  version: 1,
  follows: "log",
  schema: z.lazy(() =>
    z.object({
      stored: byIdSchema(
        z.intersection(z.looseObject({ mediaType: z.string() }), blobMeasuresSchema),
      ),
      bytes: z.int().nonnegative(),
    }),
  ),
  initial: { stored: {}, bytes: 0 },
  on: {
    "blob.stored": (state, { data: { sha256, ...blob } }) =>
      Object.hasOwn(state.stored, sha256)
        ? state
        : { stored: { ...state.stored, [sha256]: blob }, bytes: state.bytes + blob.bytes },
  },
});
