/** Text that breaks between words. */
import { styleText } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { writeSentence } from "../../src/cli/output/output.ts";
import { cellsOf } from "../../src/cli/terminal/cells.ts";
import { wrappedLines } from "../../src/cli/terminal/cells.ts";
import { recordedOutput } from "./recorded-output.ts";

const words = fc.constantFrom("a", "word", "漢字", "👩‍👩‍👧", "  ", "\n", "L".repeat(30));
const text = fc.array(words, { maxLength: 20 }).map((parts) => parts.join(" "));

it("breaks no word that fits on a row, keeps every word, and fills no row beyond its cells", () => {
  const shortWords = (shown: string): readonly string[] =>
    shown.split(/\s+/).filter((word) => word !== "" && !word.includes("L"));
  fc.assert(
    fc.property(text, fc.integer({ min: 20, max: 60 }), (given, columns) => {
      const shown = wrappedLines(given, columns);
      for (const row of shown.split("\n"))
        expect(cellsOf(row.trimEnd())).toBeLessThanOrEqual(columns);
      expect(shortWords(shown)).toEqual(shortWords(given));
      expect(shown.replaceAll(/\s/g, "")).toBe(given.replaceAll(/\s/g, ""));
    }),
  );
});

it("indents the further rows of a line, also of one with styles", () => {
  expect(wrappedLines("one two three\n  four five six", 10)).toBe(
    "one two\n  three\n  four\n    five\n    six",
  );
  const bold = styleText("bold", "two", { validateStream: false });
  expect(wrappedLines(`one ${bold} three`, 12)).toBe(`one ${bold}\n  three`);
});

it("breaks a sentence on a terminal only", async () => {
  const line = "word ".repeat(30).trim();
  for (const isTerminal of [true, false]) {
    const { progress, written } = recordedOutput(isTerminal);
    await writeSentence(progress, line);
    expect(written.progress.includes("\n  word")).toBe(isTerminal);
    expect(written.progress.replaceAll(/\s+/g, " ").trim()).toBe(line);
  }
});
