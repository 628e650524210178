/** A text that is cut is the beginning of the whole, and parts no character of two code units. */

import { assert, nat, property, string } from "fast-check";
import { expect, it } from "vitest";
import { cutShort, textStart, visibleWord } from "../../src/events/index.ts";

it("is the beginning of the text, as long as asked for, without half a pair", () => {
  assert(
    property(string({ unit: "binary" }), nat({ max: 20 }), (text, length) => {
      const start = textStart(text, length);
      expect(start.isWellFormed()).toBe(true);
      expect(text.startsWith(start)).toBe(true);
      expect(start.length).toBeGreaterThanOrEqual(Math.min(text.length, length) - 1);
      expect(start.length).toBeLessThanOrEqual(length);
    }),
  );
});

it("says by its last letter that there was more", () => {
  expect([cutShort("abc", 3), cutShort("abcd", 3), cutShort("ab💥", 3)]).toEqual([
    "abc",
    "abc…",
    "ab…",
  ]);
});

it("quotes a name whose line ends or invisible characters could forge a sentence, and no other", () => {
  expect(visibleWord("read file é")).toBe("read file é");
  for (const name of ["a\nb", "a\u2028b", "a\u2029b", "a\u200bb", "\u001b[2J"])
    expect(visibleWord(name)).toBe(JSON.stringify(name));
});
