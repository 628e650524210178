/** The line that is typed. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cellsOf } from "../../src/cli/terminal/cells.ts";
import { draftRow, draftText, edit, emptyDraft, type Draft } from "../../src/cli/terminal/draft.ts";
import type { Press } from "../../src/cli/terminal/key.ts";

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

  it("shows the cursor and what is around it on one row, however long it is", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 50 });
    fc.assert(
      fc.property(text, text, fc.integer({ min: 5, max: 60 }), (before, behind, cells) => {
        const row = draftRow({ before, after: behind }, cells);
        expect(row.text).not.toContain("\n");
        expect(cellsOf(row.text)).toBeLessThanOrEqual(cells);
        expect(row.column).toBeLessThan(cells);
        const all = draftText({ before, after: behind });
        const fits = cellsOf(all) < cells && !/[\n\t]/.test(all);
        expect(row.text === all || !fits).toBe(true);
      }),
    );
  });

  it("shows the end of a long input, and a mark for the hidden beginning", () => {
    expect(draftRow({ before: "one two three", after: "" }, 8)).toEqual({
      text: "… three",
      column: 7,
    });
    expect(draftRow({ before: "a\nb", after: "" }, 8).text).toBe("a⏎b");
  });
});
