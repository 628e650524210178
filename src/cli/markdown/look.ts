/** How rows look: styles, width, and where words break. Pure. */

import wrapAnsi from "wrap-ansi";
import type { Style } from "../output/index.ts";

/** The width of rows in cells, and the styles that the terminal has. */
export interface Look {
  readonly columns: () => number;
  readonly style: (style: Style, text: string) => string;
}

/** @param keeps - "all" keeps the spaces of code; "words" breaks between words. */
export function wrapped(text: string, columns: number, keeps: "words" | "all" = "words"): string[] {
  const isCode = keeps === "all";
  return wrapAnsi(text, Math.max(1, columns), {
    hard: true,
    trim: !isCode,
    wordWrap: !isCode,
  }).split("\n");
}
