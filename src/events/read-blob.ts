/** A blob as a whole, checked before anybody sees a byte of it. */

import type { BlobStore } from "./blob-store.ts";

/** @throws TurnlogError as `BlobStore.get` */
export async function readBlob(
  blobs: Pick<BlobStore, "get">,
  sha256: string,
): Promise<Uint8Array<ArrayBuffer>> {
  return Buffer.concat(await Array.fromAsync(blobs.get(sha256)));
}
