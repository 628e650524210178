/** The line being typed: the text before and after the cursor. Pure. */

import { cellsOf, piecesOf } from "./cells.ts";
import type { Key, Press } from "./key.ts";

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
  home: () => 0,
  end: (before, after) => before.length + after.length,
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

/** The part of the draft that fits on one row; text before the cursor has priority. */
export function draftRow(
  draft: Draft,
  cells: number,
): { readonly text: string; readonly column: number } {
  const before = oneRow(draft.before);
  // One cell is for the cursor after the last character.
  const width = Math.max(1, cells - 1);
  const shownBefore = endOf(before, cellsOf(before) > width ? width - 1 : width);
  const cut = shownBefore.length < before.length ? `…${shownBefore}` : shownBefore;
  return {
    text: cut + beginningOf(oneRow(draft.after), width - cellsOf(cut)),
    column: cellsOf(cut),
  };
}

function oneRow(text: string): string {
  return text.replaceAll("\n", "⏎").replaceAll("\t", " ");
}

function beginningOf(text: string, cells: number): string {
  let beginning = "";
  for (const piece of piecesOf(text)) {
    if (cellsOf(beginning) + piece.cells > cells) break;
    beginning += piece.text;
  }
  return beginning;
}

function endOf(text: string, cells: number): string {
  let left = cellsOf(text);
  let start = 0;
  for (const piece of piecesOf(text)) {
    if (left <= cells) break;
    left -= piece.cells;
    start += piece.text.length;
  }
  return text.slice(start);
}
