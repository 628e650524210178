/** Blobs in memory: for tests, and for logs in memory. */

import { check } from "../../validation/index.ts";
import {
  collectSchema,
  putSchema,
  assertDigest,
  collected,
  damaged,
  missing,
  BlobHolds,
} from "./blob-checks.ts";
import type { BlobEntry, BlobStore } from "../../events/index.ts";
import { hash } from "node:crypto";

/**
 * Opens a blob store that ends with its process.
 * @example
 * const blobs = memoryBlobs();
 * using held = await blobs.put(Buffer.from("a picture"));
 * console.log(await blobs.has(held.sha256));
 */
export function memoryBlobs(): BlobStore {
  const contents = new Map<string, Uint8Array>();
  const holds = new BlobHolds();
  return {
    async put(source, options = {}) {
      check(putSchema, options, "put", { name: "options" });
      const content = await collected(source, options);
      const held = await holds.hold({ sha256: hash("sha256", content), bytes: content.byteLength });
      contents.set(held.sha256, content);
      return held;
    },

    async *get(sha256) {
      assertDigest(sha256);
      const content = contents.get(sha256);
      if (content === undefined) throw missing(sha256);
      yield Uint8Array.from(content);
      const found = hash("sha256", content);
      if (found !== sha256) throw damaged(sha256, found);
    },

    async has(sha256) {
      assertDigest(sha256);
      return contents.has(sha256);
    },

    async *list() {
      for (const [sha256, content] of [...contents].toSorted(byName)) {
        yield { sha256, bytes: content.byteLength } satisfies BlobEntry;
      }
    },

    async collect(used, options = {}) {
      check(collectSchema, options, "collect", { name: "options" });
      return await holds.collect(used, options, {
        names: async () => contents.keys(),
        sizeOf: async (sha256) => contents.get(sha256)?.byteLength,
        remove: async (sha256) => void contents.delete(sha256),
      });
    },

    hold: (among) => (among === undefined ? holds.holdAll() : holds.holdNamed(among)),
  };
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
