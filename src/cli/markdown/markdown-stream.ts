/**
 * Shows Markdown while it streams: a block is final when a line of the next one is complete. Until then it may
 * become something else (a paragraph a heading, a row a table), so it is redrawn with each piece. Pure.
 */

import { lexer, type Token } from "marked";
import { blockRows, type Look } from "./block-rows.ts";

/** Rows to show now. */
interface Shown {
  /** Rows that stay. */
  readonly final: readonly string[];
  /** Rows that may still change. They replace those that were shown before. */
  readonly open: readonly string[];
}

export class MarkdownStream {
  readonly #look: Look;
  /** The source from the last block on. */
  #source = "";
  #hasBlocks = false;

  constructor(look: Look) {
    this.#look = look;
  }

  /** Takes a piece of the text, which is safe to show. */
  add(piece: string): Shown {
    this.#source += piece;
    const final = piece.includes("\n") ? this.#finished() : [];
    return { final, open: this.#rows(lexer(this.#source)) };
  }

  /** Ends the text. Returns the rows that were open. */
  end(): readonly string[] {
    const rows = this.#rows(lexer(this.#source));
    this.#source = "";
    this.#hasBlocks = false;
    return rows;
  }

  /** Takes the blocks that cannot change any more. */
  #finished(): readonly string[] {
    const lines = this.#source.slice(0, this.#source.lastIndexOf("\n") + 1);
    const blocks = lexer(lines);
    const last = blocks.findLastIndex(isShown);
    const begin = lines.lastIndexOf(blocks[last]?.raw ?? lines);
    if (begin <= 0) return [];
    const rows = this.#rows(blocks.slice(0, last));
    this.#source = this.#source.slice(begin);
    this.#hasBlocks ||= rows.length > 0;
    return rows;
  }

  /** Rows of whole blocks, with an empty row between two. */
  #rows(blocks: readonly Token[]): readonly string[] {
    return blocks
      .map((block) => blockRows(block, this.#look))
      .filter((rows) => rows.length > 0)
      .flatMap((rows, index) => (this.#hasBlocks || index > 0 ? ["", ...rows] : rows));
  }
}

function isShown({ type }: Token): boolean {
  return type !== "space" && type !== "def";
}
