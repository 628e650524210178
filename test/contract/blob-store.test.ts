/** The promises of a blob store, on every implementation that we have. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { folderBlobs, memoryBlobs } from "../../src/store/blobs/index.ts";
import type { BlobStore } from "../../src/events/index.ts";
import { blobStoreContract } from "../../src/testing/index.ts";

const root = await mkdtemp(join(tmpdir(), "turnlog-blobs-"));
afterAll(() => rm(root, { recursive: true, force: true }));

blobStoreContract("in memory", { describe, it, open: async () => memoryBlobs() });

for (const sync of [true, false]) {
  const folders = new WeakMap<BlobStore, string>();
  let count = 0;
  const openIn = async (dir: string): Promise<BlobStore> => {
    const blobs = folderBlobs(dir, { sync });
    folders.set(blobs, dir);
    return blobs;
  };
  blobStoreContract(`in a folder, ${sync ? "synced" : "not synced"}`, {
    describe,
    it,
    open: () => openIn(join(root, `${sync}-${count++}`, "blobs")),
    reopen: (blobs) => openIn(folders.get(blobs) ?? ""),
  });
}
