/** Breaks text into rows of a terminal between its words. Pure. */

import wrapAnsi from "wrap-ansi";
import { cellsOf, withoutTabs } from "./cells.ts";

/** @param keeps - "all" keeps the spaces of code; "words" breaks between words. */
export function wrapped(text: string, columns: number, keeps: "words" | "all" = "words"): string[] {
  const isCode = keeps === "all";
  return wrapAnsi(text, Math.max(1, columns), {
    hard: true,
    trim: !isCode,
    wordWrap: !isCode,
  }).split("\n");
}

/** A deeper indent is given up: no room would be left for words. */
const DEEPEST = 20;

/** Breaks the lines that are too long between words; their further rows are indented below them. */
export function wrappedLines(text: string, columns: number): string {
  return text
    .split("\n")
    .map(withoutTabs)
    .map((line) => {
      if (cellsOf(line) <= columns) return line;
      const indent = (/^ */.exec(line)?.[0] ?? "").slice(0, DEEPEST);
      const [first = "", ...rest] = wrapped(line.trimStart(), columns - indent.length - 2);
      return [indent + first, ...rest.map((row) => `${indent}  ${row}`)].join("\n");
    })
    .join("\n");
}
