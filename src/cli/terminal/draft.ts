/** The line being typed: the text before and after the cursor. Pure. */

import { cellsOf, piecesOf } from "./cells.ts";
import type { Key, Press } from "./keyboard.ts";

export interface Draft {
  readonly before: string;
  readonly after: string;
}

export const emptyDraft: Draft = { before: "", after: "" };

export function draftText({ before, after }: Draft): string {
  return before + after;
}

/** The draft after a key; the same draft if the key changes nothing. */
export function edit(draft: Draft, key: Key): Draft {
  if (key.kind === "text") return { ...draft, before: draft.before + key.text };
  const { before, after } = draft;
  const move = moves[key.name];
  if (move !== undefined) {
    const text = before + after;
    const cursor = move(before, after);
    return cursor === before.length
      ? draft
      : { before: text.slice(0, cursor), after: text.slice(cursor) };
  }
  const erased = erasures[key.name]?.(draft);
  return erased === undefined || draftText(erased) === before + after ? draft : erased;
}

const moves: Partial<Readonly<Record<Press, (before: string, after: string) => number>>> = {
  left: (before) => before.length - lastOf(before).length,
  right: (before, after) => before.length + firstOf(after).length,
  "word-left": (before) => before.length - lastWordOf(before).length,
  "word-right": (before, after) => before.length + (/^\s*\S*/.exec(after)?.[0].length ?? 0),
  // Of the line in which the cursor is.
  home: (before) => before.lastIndexOf("\n") + 1,
  end: (before, after) => before.length + lineLength(after),
};

const erasures: Partial<Readonly<Record<Press, (draft: Draft) => Draft>>> = {
  backspace: ({ before, after }) => ({
    before: before.slice(0, before.length - lastOf(before).length),
    after,
  }),
  delete: ({ before, after }) => ({ before, after: after.slice(firstOf(after).length) }),
  "erase-word": ({ before, after }) => ({
    before: before.slice(0, before.length - lastWordOf(before).length),
    after,
  }),
  "erase-before": ({ after }) => ({ before: "", after }),
  "erase-after": ({ before }) => ({ before, after: "" }),
};

function firstOf(text: string): string {
  return [...piecesOf(text)].at(0)?.text ?? "";
}

function lastOf(text: string): string {
  return [...piecesOf(text)].at(-1)?.text ?? "";
}

function lastWordOf(text: string): string {
  return /\S*\s*$/.exec(text)?.[0] ?? "";
}

/** The rows of a draft around the cursor. */
export interface DraftRows {
  readonly rows: readonly string[];
  /** The index of the cursor's row. */
  readonly row: number;
  /** Cells before the cursor. */
  readonly column: number;
  /** Whether text is hidden above and below. */
  readonly above: boolean;
  readonly below: boolean;
}

/** Breaks the draft into rows of fewer cells than given: the cursor may be after the last character. */
export function draftRows({ before, after }: Draft, cells: number, most: number): DraftRows {
  // A long draft is broken only around the cursor, from a place that does not move with each key.
  const piece = cells * most;
  const start = Math.max(0, (Math.floor(before.length / piece) - 1) * piece);
  const cursor = before.length - start;
  const text = before.slice(start) + after.slice(0, piece);
  const rows = brokenRows(text.replaceAll("\t", " "), Math.max(1, cells - 1));
  const at = rows.findLastIndex((row) => row.start <= cursor);
  const first = Math.max(0, at - most + 1);
  const shown = rows.slice(first, first + most);
  const { text: row = "", start: rowStart = 0 } = rows[at] ?? {};
  return {
    rows: shown.map((one) => one.text),
    row: at - first,
    column: cellsOf(row.slice(0, cursor - rowStart)),
    above: start > 0 || first > 0,
    below: after.length > piece || first + most < rows.length,
  };
}

interface BrokenRow {
  readonly text: string;
  /** The index of its first character. */
  readonly start: number;
}

/** Breaks at line ends, else after the last space that fits, else within a word. */
function brokenRows(text: string, cells: number): readonly BrokenRow[] {
  const rows: BrokenRow[] = [];
  let start = 0;
  let row = "";
  let afterSpace = 0;
  const end = (length: number, skipped: number): void => {
    rows.push({ text: row.slice(0, length), start });
    start += length + skipped;
    row = row.slice(length);
    afterSpace = 0;
  };
  for (const piece of piecesOf(text)) {
    if (piece.text === "\n") {
      end(row.length, 1);
      continue;
    }
    if (row !== "" && cellsOf(row) + piece.cells > cells)
      end(afterSpace > 0 ? afterSpace : row.length, 0);
    row += piece.text;
    if (piece.text === " ") afterSpace = row.length;
  }
  end(row.length, 0);
  return rows;
}

/** The draft with the cursor in the line above or below; undefined if there is no such line. */
export function lineStep({ before, after }: Draft, direction: "up" | "down"): Draft | undefined {
  const text = before + after;
  const begin = before.lastIndexOf("\n") + 1;
  const end = before.length + lineLength(after);
  if (direction === "up" ? begin === 0 : end === text.length) return undefined;
  const target = direction === "up" ? text.lastIndexOf("\n", begin - 2) + 1 : end + 1;
  const line = text.slice(target, target + lineLength(text.slice(target)));
  const cursor = target + beginningOf(line, cellsOf(before.slice(begin))).length;
  return { before: text.slice(0, cursor), after: text.slice(cursor) };
}

function lineLength(text: string): number {
  const end = text.indexOf("\n");
  return end === -1 ? text.length : end;
}

function beginningOf(text: string, cells: number): string {
  let beginning = "";
  for (const piece of piecesOf(text)) {
    if (cellsOf(beginning) + piece.cells > cells) break;
    beginning += piece.text;
  }
  return beginning;
}
