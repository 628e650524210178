/** Markdown as a terminal shows it: the same however it streams, never wider than the screen. */

import { styleText, stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { MarkdownStream } from "../../src/cli/markdown/markdown-stream.ts";
import { cellsOf } from "../../src/cli/terminal/cells.ts";
import { runs } from "../support/runs.ts";

function stream(columns: number): MarkdownStream {
  return new MarkdownStream({
    columns: () => columns,
    style: (style, text) => styleText(style, text, { validateStream: false }),
  });
}

/** The rows of a text that comes in these pieces. */
function drawn(pieces: readonly string[], columns: number): readonly string[] {
  const markdown = stream(columns);
  const rows = pieces.flatMap((piece) => markdown.add(piece).final);
  return [...rows, ...markdown.end()];
}

const plain = (rows: readonly string[]): readonly string[] => rows.map(stripVTControlCharacters);

it.each<[string, string, readonly string[]]>([
  ["words break between words", "one two three four", ["one two", "three four"]],
  ["a word that is too long breaks", "abcdefghijklm", ["abcdefghij", "klm"]],
  ["a heading", "## Why", ["Why"]],
  ["emphasis", "a **b** *c* `d`", ["a b c d"]],
  ["a link shows where it goes", "[x](/y)", ["x (/y)"]],
  ["an address once", "<http://a.b>", ["http://a.b"]],
  ["a list", "- a\n- b c d e f g\n  1. x", ["• a", "• b c d e", "  f g", "  1. x"]],
  ["tasks", "- [x] a\n- [ ] b", ["• ☑ a", "• ☐ b"]],
  ["a quote", "> a b c d e f", ["│ a b c d", "│ e f"]],
  ["code keeps its spaces", "```\nif x:\n    y\n```", ["  if x:", "      y"]],
  ["coloured code", "```ts\nlet a = 1;\n```", ["  let a = ", "1;"]],
  ["a table", "|a|b|\n|-|-:|\n|x|12|", ["a │  b", "──┼───", "x │ 12"]],
  ["wide letters", "日本語日本語", ["日本語日本", "語"]],
  ["blocks have an empty row between them", "a\n\n\nb", ["a", "", "b"]],
  ["markup is text", "a <b>c</b>", ["a <b>c</b>"]],
])("draws %s", (_, text, rows) => {
  expect(plain(drawn([text], 10))).toEqual(rows);
});

it("colours what a language names, and only that", () => {
  const [row = ""] = drawn(["```js\nconst a = 'x';\n```"], 40);
  expect(row).toContain(styleText("magenta", "const", { validateStream: false }));
  expect(row).toContain(styleText("green", "'x'", { validateStream: false }));
  const [other] = drawn(["```cobol\nMOVE 1 TO A\n```"], 40);
  expect(other).toBe("  MOVE 1 TO A");
});

const bits = [
  "word ",
  "a",
  "**",
  "_",
  "`",
  "\n",
  "\n\n",
  "- ",
  "1. ",
  "# ",
  "> ",
  "```",
  "```ts\n",
].concat(["|a|b|\n|-|-|\n", "|x|y|\n", "[l](u)", "---\n", "  ", "\t", "漢字 ", "🎉", "<i>", "\\*"]);
const text = fc.array(fc.constantFrom(...bits), { maxLength: 40 });

it("draws a text the same however it streams", () => {
  fc.assert(
    fc.property(text, (pieces) => {
      expect(drawn(pieces, 30)).toEqual(drawn([pieces.join("")], 30));
    }),
    runs(300),
  );
});

it("draws no row that is wider than the screen, and none that changes once it stays", () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 20, max: 60 }), (pieces, columns) => {
      const markdown = stream(columns);
      for (const piece of pieces) {
        const { final, open } = markdown.add(piece);
        for (const row of [...final, ...open]) expect(cellsOf(row)).toBeLessThanOrEqual(columns);
      }
    }),
    runs(200),
  );
});
