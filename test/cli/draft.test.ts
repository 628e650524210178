/** The line that is typed. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cellsOf } from "../../src/cli/terminal/cells.ts";
import {
  draftRows,
  draftText,
  edit,
  emptyDraft,
  lineStep,
  type Draft,
} from "../../src/cli/terminal/draft.ts";
import type { Press } from "../../src/cli/terminal/keyboard.ts";

/** The line after keys; words in brackets are pressed, all else is typed. The cursor is `|`. */
function after(keys: string): string {
  let draft: Draft = emptyDraft;
  for (const [, name, text] of keys.matchAll(/\[([a-z-]+)\]|([^[]+)/g)) {
    if (text !== undefined) draft = edit(draft, { kind: "text", text });
    else draft = edit(draft, { kind: "press", name: name as Press });
  }
  return `${draft.before}|${draft.after}`;
}

describe("a draft", () => {
  it.each([
    ["helo[left]l[end]!", "hello!|"],
    ["hello[home]oh [right][delete]", "oh h|llo"],
    ["hello[backspace][backspace]", "hel|"],
    ["one two three[word-left][word-left]", "one |two three"],
    ["one two[home][word-right]", "one| two"],
    ["one two  [erase-word]", "one |"],
    ["one two[left][erase-before]", "|o"],
    ["one two[home][erase-after]", "|"],
    ["👩‍👩‍👧é[backspace][left]", "|👩‍👩‍👧"],
    ["[left][backspace][delete]a[right]", "a|"],
  ])("%s makes %s", (keys, made) => {
    expect(after(keys)).toBe(made);
  });

  it("is the same draft when a key does nothing to it", () => {
    for (const name of ["left", "right", "home", "end", "delete", "enter", "escape"] as const) {
      expect(edit(emptyDraft, { kind: "press", name })).toBe(emptyDraft);
    }
  });

  it("goes from line to line, and to the ends of one", () => {
    expect(after("one\ntwo[home]-")).toBe("one\n-|two");
    const draft = { before: "longer\nab", after: "c" };
    expect(lineStep(draft, "up")).toEqual({ before: "lo", after: "nger\nabc" });
    expect(lineStep(draft, "down")).toBeUndefined();
    expect(lineStep({ before: "longer", after: "\nabc" }, "down")).toEqual({
      before: "longer\nabc",
      after: "",
    });
    expect(lineStep({ before: "longer", after: "\nabc" }, "up")).toBeUndefined();
  });

  it("shows the cursor and what is around it, broken between words, however long it is", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 200 });
    const most = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(
        text,
        text,
        fc.integer({ min: 5, max: 60 }),
        most,
        (before, behind, cells, rows) => {
          const shown = draftRows({ before, after: behind }, cells, rows);
          expect(shown.rows.length).toBeLessThanOrEqual(rows);
          for (const row of shown.rows) {
            expect(row).not.toMatch(/[\n\t]/);
            expect(cellsOf(row)).toBeLessThan(cells);
          }
          expect(shown.column).toBeLessThan(cells);
          expect(shown.rows[shown.row]).toBeDefined();
          const all = draftText({ before, after: behind }).replaceAll(/[\n\t]/g, "");
          const seen = shown.rows.join("").replaceAll("\t", "");
          const isWhole = !shown.above && !shown.below;
          expect(all.replaceAll(" ", "")).toContain(seen.replaceAll(" ", ""));
          expect(isWhole && seen.length < all.length).toBe(false);
        },
      ),
    );
  });

  it("breaks after a space, and has the cursor where the next letter goes", () => {
    const rows = (before: string, behind = "") => draftRows({ before, after: behind }, 8, 3);
    expect(rows("one two three")).toMatchObject({
      rows: ["one ", "two ", "three"],
      row: 2,
      column: 5,
      above: false,
    });
    expect(rows("one two ", "three")).toMatchObject({ row: 2, column: 0 });
    expect(rows("a\n", "b")).toMatchObject({ rows: ["a", "b"], row: 1, column: 0 });
    expect(rows("a", "\nb")).toMatchObject({ row: 0, column: 1 });
    expect(rows("1\n2\n3\n4")).toMatchObject({ rows: ["2", "3", "4"], row: 2, above: true });
  });
});
