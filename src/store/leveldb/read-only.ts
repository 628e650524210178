/** What a store that is open for reading refuses. */

import { type BlobStore, TurnlogError } from "../../events/index.ts";

export function readOnlyError(dir: string | undefined): TurnlogError {
  return new TurnlogError(
    "LOG_READ_ONLY",
    `The store in ${dir} was opened to be read, and nothing in it is changed. Open it without \`readOnly\` to write.`,
    { details: { dir } },
  );
}

/** Blobs that can be read, but neither put nor collected. */
export function readOnlyBlobs(blobs: BlobStore, dir: string): BlobStore {
  const refuse = async (): Promise<never> => {
    throw readOnlyError(dir);
  };
  return {
    get: (sha256) => blobs.get(sha256),
    has: (sha256) => blobs.has(sha256),
    list: () => blobs.list(),
    hold: (among) => blobs.hold(among),
    put: refuse,
    collect: refuse,
  };
}
