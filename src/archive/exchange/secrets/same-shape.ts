/** What comes in a row with a secret and has its form: lists of tokens, recovery codes in lines. Pure. */

import type { Range } from "./found.ts";

/** Between two of a list: an end of a line (which JSON escapes) or a comma, with marks of lists. */
const NEXT =
  /[\\ ]{0,8}["'`]?[ \t]{0,8}(?:,|\r?\n|\\+[nr])(?:\s|\\+[nr]){0,40}(?:(?:[-*•]|\d{1,2}[.)])[ \t]+)?[\\ ]{0,8}["'`]?/y;

const shapeOf = (word: string): string => word.replaceAll(/[A-Za-z\d]/g, "a");

export function sameShapeAfter(text: string, [from, to]: Range): readonly Range[] {
  const shape = shapeOf(text.slice(from, to));
  const found: Range[] = [];
  if (shape.length > 200 || /\s/.test(shape)) return found;
  for (let end = to; ;) {
    NEXT.lastIndex = end;
    const start = end + (NEXT.exec(text)?.[0].length ?? 0);
    const next = text.slice(start, start + shape.length);
    const isNext = start > end && shapeOf(next) === shape && /\d/.test(next);
    if (!isNext || /\w/.test(text.charAt(start + shape.length))) return found;
    end = start + shape.length;
    found.push([start, end]);
  }
}
