/** The blobs that a session has: what it may refer to, and how much that is. Fed by `blob.stored` alone. */

import { z } from "zod";
import { blobMeasuresSchema, byIdSchema, type BlobMeasures } from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** What is known of a blob without reading it. */
export interface KnownBlob extends BlobMeasures {
  /** What its bytes are. */
  readonly mediaType: string;
}

/** Which blobs a session has. */
export interface BlobsState {
  /** By digest; of a fork also those that it shares. */
  readonly stored: Readonly<Record<string, KnownBlob>>;
  /** Bytes of all of them, each once. */
  readonly bytes: number;
}

/** Folds which blobs a session may refer to. */
export const blobs: Projection<BlobsState> = defineProjection<BlobsState>({
  name: "blobs",
  version: 1,
  schema: z.object({
    stored: byIdSchema(
      z.intersection(z.looseObject({ mediaType: z.string() }), blobMeasuresSchema),
    ),
    bytes: z.int().nonnegative(),
  }),
  initial: { stored: {}, bytes: 0 },
  on: {
    "blob.stored": (state, { data: { sha256, ...blob } }) =>
      Object.hasOwn(state.stored, sha256)
        ? state
        : { stored: { ...state.stored, [sha256]: blob }, bytes: state.bytes + blob.bytes },
  },
});
