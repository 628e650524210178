/**
 * Collects the rows of a block whose deltas arrive a few at a time. When the block ends, the
 * committer replaces them by one merged row. Part of the session's head: if the head is dropped,
 * the rows stay as they are and read the same.
 */

import { continues, isPlainDelta, LONGEST_RUN, type Delta, type EventRow } from "../rows/index.ts";

/** Rows with more deltas on average are not merged: writing them again costs more than it saves. */
const LONG_ENOUGH = 16;

export class LooseRows {
  #rows: EventRow[] = [];
  #first: Delta | undefined;
  #events = 0;

  /** Drops rows that are not in the store. */
  clear(): void {
    this.#rows = [];
    this.#first = undefined;
    this.#events = 0;
  }

  /** Takes the session's next row. Returns earlier rows to merge, or none. */
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
