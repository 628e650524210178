/** A page of a long result: its place, its text, and where the rest continues. */

import { expect, it } from "vitest";
import { resultPage, type PageRequest } from "../../src/context/shortening/result-cuts.ts";

const text = "0123456789".repeat(10);
const quarter = (shown: string): number => shown.length / 4;
const page = (request: PageRequest, limit = 1000, of = text): string =>
  resultPage(of, request, limit, quarter).shown;

it("says which characters it has of how many, and from where they go on", () => {
  expect(page({ from: 0 })).toBe(`[Characters 0 to 100 of 100.]\n${text}`);
  expect(page({ from: 20, length: 5 })).toBe(
    "[Characters 20 to 25 of 100. They go on from 25.]\n01234",
  );
  expect(page({ from: 95, length: 5 })).toBe("[Characters 95 to 100 of 100.]\n56789");
  expect(page({ from: 95, length: 50 })).toBe("[Characters 95 to 100 of 100.]\n56789");
  expect(page({ from: 100 })).toBe("[Characters 100 to 100 of 100.]\n");
  expect(page({ from: 500 })).toBe("[Characters 100 to 100 of 100.]\n");
  expect(page({ from: 3.5, length: 2.9 })).toContain("\n");
});

it("has as many characters as its tokens allow, one at the least", () => {
  const { from, to } = resultPage(text, { from: 0 }, 20, quarter);
  expect(from).toBe(0);
  // 80 characters, of which the heading has about 50.
  expect(to).toBeGreaterThan(25);
  expect(to).toBeLessThanOrEqual(32);
  expect(page({ from: 7, length: 0 })).toMatch(/\n7$/);
  expect(page({ from: 7 }, 1)).toMatch(/\n7$/);
});

it("splits no character of two halves", () => {
  const smiles = "😀😀😀";
  expect(page({ from: 1, length: 2 }, 1000, smiles)).toMatch(/^\[Characters 0 to 2 .*\n😀$/);
  expect(page({ from: 2, length: 3 }, 1000, smiles)).toMatch(/^\[Characters 2 to 4 .*\n😀$/);
  expect(page({ from: 2, length: 1 }, 1000, smiles)).toMatch(/^\[Characters 2 to 4 .*\n😀$/);
});
