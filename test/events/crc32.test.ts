/** The CRC-32 for browsers: rows written in Node must be intact there, and the other way round. */

import { crc32 as crc32OfNode } from "node:zlib";
import fc from "fast-check";
import { expect, it } from "vitest";
import { crc32 } from "../../src/events/rows/crc32.ts";

it("is the CRC-32 of Node, for texts and bytes, with and without a seed", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(2 ** 32 - 1), (text, seed) => {
      expect(crc32(text)).toBe(crc32OfNode(text));
      expect(crc32(new TextEncoder().encode(text), seed)).toBe(crc32OfNode(text, seed));
    }),
  );
});
