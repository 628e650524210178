/**
 * Counts the terminal cells of a text, and breaks it into rows. The text is already safe (`visible-text.ts`): its only escape
 * sequences are our own styles, which take no cell. Pure.
 */

import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
// oxlint-disable-next-line no-control-regex
const styles = /(\u001B\[[\d;]*m)/;
const plain = /^[\u0020-\u007E]*$/;

/** A unit of cursor movement: a visible character, or a style. */
export interface Piece {
  readonly text: string;
  readonly cells: number;
}

export function* piecesOf(text: string): Generator<Piece> {
  for (const [index, section] of text.split(styles).entries()) {
    if (index % 2 === 1) yield { text: section, cells: 0 };
    else if (plain.test(section)) for (const letter of section) yield { text: letter, cells: 1 };
    else {
      for (const { segment } of graphemes.segment(section)) {
        yield { text: segment, cells: stringWidth(segment) };
      }
    }
  }
}

export function cellsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let cells = 0;
  for (const piece of piecesOf(text)) cells += piece.cells;
  return cells;
}

export function cutToCells(text: string, most: number): string {
  if (cellsOf(text) <= most) return text;
  let cut = "";
  let cells = 0;
  for (const piece of piecesOf(text)) {
    if (cells + piece.cells > most - 1) break;
    cut += piece.text;
    cells += piece.cells;
  }
  return most > 0 ? `${cut}…` : "";
}

/** Splits a text after the part that fits on a row; undefined if all of it fits. */
export function breakRow(text: string, columns: number): readonly [string, string] | undefined {
  if (text.length <= columns) {
    // A short text is too wide only with characters of two cells.
    if (plain.test(text)) return undefined;
  }
  let row = "";
  let cells = 0;
  for (const piece of piecesOf(text)) {
    if (cells + piece.cells > columns) return [row, text.slice(row.length)];
    row += piece.text;
    cells += piece.cells;
  }
  return undefined;
}

/** Arranges words in rows; cuts a word that is longer than a row. */
export function rowsOfWords(
  words: readonly string[],
  columns: number,
  between: string,
): readonly string[] {
  const rows: string[] = [];
  for (const word of words) {
    const row = rows.at(-1);
    const joined = row === undefined ? undefined : row + between + word;
    if (joined !== undefined && cellsOf(joined) <= columns) rows[rows.length - 1] = joined;
    else rows.push(cutToCells(word, columns));
  }
  return rows;
}

/** Replaces tabs by the spaces that a terminal shows. */
export function withoutTabs(text: string): string {
  if (!text.includes("\t")) return text;
  let line = "";
  for (const [index, section] of text.split("\t").entries()) {
    if (index > 0) line += " ".repeat(8 - (cellsOf(line) % 8));
    line += section;
  }
  return line;
}

// Text in rows of a terminal, broken between its words.

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
