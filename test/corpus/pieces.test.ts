import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutIntoPieces, isContinuation } from "./pieces.ts";

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 2_000 }),
  fc.string({ unit: "binary", maxLength: 1_000 }).map((text) => Buffer.from(text)),
);

describe("cutting into pieces", () => {
  it("loses, adds and reorders no byte", () => {
    fc.assert(
      fc.property(bytes, fc.integer(), (whole, seed) => {
        const pieces = [...cutIntoPieces(whole, seed)];
        expect(Buffer.concat(pieces)).toEqual(Buffer.from(whole));
        expect(pieces.every(({ length }) => length > 0)).toBe(true);
      }),
    );
  });

  it("cuts the same bytes in the same places for the same seed, and elsewhere for another", () => {
    const whole = new Uint8Array(10_000);
    const cuts = (seed: number) => [...cutIntoPieces(whole, seed)].map(({ length }) => length);
    expect(cuts(7)).toEqual(cuts(7));
    expect(cuts(7)).not.toEqual(cuts(8));
    expect(new Set(cuts(7)).size).toBeGreaterThan(20);
  });

  it("cuts through many, not all, of the characters that have more than one byte", () => {
    const characters = 1_000;
    const pieces = [...cutIntoPieces(Buffer.from("------------------é".repeat(characters)), 1)];
    const through = pieces.filter(([first]) => isContinuation(first)).length;
    expect(through).toBeGreaterThan(characters / 4);
    expect(through).toBeLessThan((characters * 3) / 4);
  });
});
