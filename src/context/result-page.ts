/** A page of a tool result that is too long to be shown whole: pages in a row are the whole of it. Pure. */

import { partsPair, type Gap } from "../projections/index.ts";

/** What is asked for, in characters (UTF-16 units). */
export interface PageRequest {
  readonly from: number;
  /** At most. Default: as many as a page may have. */
  readonly length?: number;
}

export interface ResultPage extends Gap {
  readonly text: string;
  /** What the model is told: where the page lies, and the page. */
  readonly shown: string;
}

/** Characters that a token has, mostly; a page of more is not tried. */
const PER_TOKEN = 4;

/**
 * The longest page from a place on whose text, with what is told about it, has no more tokens than it
 * may. Always goes on by a character at least, and never parts a surrogate pair.
 */
export function resultPage(
  text: string,
  { from, length = Number.POSITIVE_INFINITY }: PageRequest,
  limit: number,
  tokens: (shown: string) => number,
): ResultPage {
  const start = Math.min(from, text.length);
  const first = start - (partsPair(text, start) ? 1 : 0);
  let characters = Math.max(1, Math.floor(Math.min(length, limit * PER_TOKEN)));
  for (;;) {
    const page = pageFrom(text, first, characters);
    const used = tokens(page.shown) / limit;
    if (used <= 1 || characters === 1) return page;
    characters = Math.max(1, Math.floor(characters * Math.min(0.9, 1 / used)));
  }
}

function pageFrom(text: string, from: number, characters: number): ResultPage {
  const end = Math.min(text.length, from + characters);
  const parted = partsPair(text, end);
  const to = parted ? (end - 1 > from ? end - 1 : end + 1) : end;
  const page = text.slice(from, to);
  const next = to < text.length ? ` They go on from ${to}.` : "";
  return {
    from,
    to,
    text: page,
    shown: `[Characters ${from} to ${to} of ${text.length}.${next}]\n${page}`,
  };
}
