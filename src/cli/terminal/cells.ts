/**
 * How many cells of a terminal a text takes. Text is safe already (`visible-text.ts`), so the only
 * escape sequences in it are looks of our own, which take none. Pure.
 */

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
// oxlint-disable-next-line no-control-regex
const looks = /(\u001B\[[\d;]*m)/;
const plain = /^[\u0020-\u007E]*$/;
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|\uFE0F/u;
const nothing = /^[\p{Mark}\p{Default_Ignorable_Code_Point}]*$/u;

/** What moves the cursor as one: a character as a person sees it, or looks of our own. */
export interface Piece {
  readonly text: string;
  readonly cells: number;
}

export function* piecesOf(text: string): Generator<Piece> {
  for (const [index, stretch] of text.split(looks).entries()) {
    if (index % 2 === 1) yield { text: stretch, cells: 0 };
    else if (plain.test(stretch)) for (const letter of stretch) yield { text: letter, cells: 1 };
    else {
      for (const { segment } of graphemes.segment(stretch)) {
        yield { text: segment, cells: graphemeCells(segment) };
      }
    }
  }
}

function graphemeCells(grapheme: string): number {
  if (nothing.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}

export function cellsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let cells = 0;
  for (const piece of piecesOf(text)) cells += piece.cells;
  return cells;
}

/** The text, or its beginning and an ellipsis where it takes more. */
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

/** Breaks after as much as fits on a row; undefined where all of it does. */
export function breakRow(text: string, columns: number): readonly [string, string] | undefined {
  if (text.length <= columns) {
    // Nothing that is this short can be wider, but for what takes two cells.
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

/** The words on as many rows as they need; one that is too long for a row is cut. */
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

/** Tabs as the spaces that a terminal would show for them. */
export function withoutTabs(text: string): string {
  if (!text.includes("\t")) return text;
  let line = "";
  for (const [index, stretch] of text.split("\t").entries()) {
    if (index > 0) line += " ".repeat(8 - (cellsOf(line) % 8));
    line += stretch;
  }
  return line;
}
