/** The blobs of a session: each once, with the sum of their bytes. */

import { expect, it } from "vitest";
import { blobs } from "../../src/projections/blobs.ts";
import type { SessionEvent } from "../../src/events/index.ts";

const stored = (position: number, sha256: string, bytes: number): SessionEvent => ({
  position,
  time: 1,
  type: "blob.stored",
  data: { sha256, bytes, mediaType: "image/png" },
});

it("one that is stored again counts once", () => {
  const [a, b] = ["a".repeat(64), "b".repeat(64)];
  const events = [stored(1, a, 3), stored(2, b, 4), stored(3, a, 3)];
  const state = events.reduce((folded, event) => blobs.fold(folded, event), blobs.initial);
  expect(state.bytes).toBe(7);
  expect(Object.keys(state.stored)).toEqual([a, b]);
  expect(state.stored[a]).toEqual({ bytes: 3, mediaType: "image/png" });
});
