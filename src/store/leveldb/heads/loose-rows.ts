/**
 * The rows of a block whose deltas came a few at a time, for as long as it goes on. When it ends the
 * committer puts one row in their place. Kept with the head of a session that is being written to;
 * what is forgotten with it stays as it is, and is read the same.
 */

import { continues, isPlainDelta, LONGEST_RUN, type Delta, type EventRow } from "../rows/index.ts";

/** Rows that hold as many deltas on average are left alone: writing them again costs more than it saves. */
const LONG_ENOUGH = 16;

export class LooseRows {
  #rows: EventRow[] = [];
  #first: Delta | undefined;
  #events = 0;

  /** Forgets rows that are there no more. */
  clear(): void {
    this.#rows = [];
    this.#first = undefined;
    this.#events = 0;
  }

  /** Takes the next row of the session; returns rows before it that are to become one, or none. */
  take(row: EventRow): readonly EventRow[] {
    const [first] = row.events;
    const delta = first !== undefined && isPlainDelta(first) ? first : undefined;
    const begun = this.#first;
    const goesOn = begun !== undefined && delta !== undefined && continues(begun, delta);
    if (goesOn && this.#events + row.events.length <= LONGEST_RUN) {
      this.#rows.push(row);
      this.#events += row.events.length;
      return [];
    }
    const over = this.#rows;
    const isWorthIt = over.length > 1 && this.#events < LONG_ENOUGH * over.length;
    this.#first = delta;
    this.#rows = delta === undefined ? [] : [row];
    this.#events = delta === undefined ? 0 : row.events.length;
    return isWorthIt ? over : [];
  }
}
