/** Reads a long tool result page by page; consecutive pages have no gap. Pure. */

import { partsPair, type Gap } from "../../projections/index.ts";

/** The requested page, in characters (UTF-16 units). */
export interface PageRequest {
  readonly from: number;
  /** The most characters. Default: as many as the page may have. */
  readonly length?: number;
}

export interface ResultPage extends Gap {
  readonly text: string;
  /** The text for the model: the place of the page, then the page. */
  readonly shown: string;
}

/** Characters for each token of the first attempt. */
const PER_TOKEN = 4;

/** With at most `limit` tokens, heading included, and at least one character. Never splits a surrogate pair. */
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
