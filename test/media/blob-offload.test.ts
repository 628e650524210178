/** Which content becomes a blob, and which stays in its event. */

import { expect, it } from "vitest";
import { BlobOffload, type BlobLimits } from "../../src/media/blob-offload.ts";
import { BlobQuota } from "../../src/media/used-blobs.ts";
import { blobs } from "../../src/projections/index.ts";
import { memoryBlobs } from "../../src/store/blobs/index.ts";

async function isBlob(content: Uint8Array, declared: string, limits: BlobLimits = {}) {
  const known = () => blobs.initial;
  using offload = new BlobOffload({
    session: "s",
    store: memoryBlobs(),
    limits,
    known,
    quota: new BlobQuota("s", known),
  });
  const { blob } = await offload.offload(content, declared);
  expect(offload.stored).toHaveLength(blob === undefined ? 0 : 1);
  return blob !== undefined;
}

const letters = (count: number): Uint8Array => Buffer.from("x".repeat(count));

it("content is a blob from 4,096 bytes on, or as many as the limit says", async () => {
  expect(await isBlob(letters(4_095), "text/plain")).toBe(false);
  expect(await isBlob(letters(4_096), "text/plain")).toBe(true);
  expect(await isBlob(letters(9), "text/plain", { inlineBytes: 10 })).toBe(false);
  expect(await isBlob(letters(10), "text/plain", { inlineBytes: 10 })).toBe(true);
});

it("what no model can be shown is a blob however small it is, so that a note can name it", async () => {
  expect(await isBlob(Buffer.from([1, 0, 255]), "")).toBe(true);
});
