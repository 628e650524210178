/** Collects a session's small rows, which its log merges later: a slow stream makes a row of each delta. */

import { continues, isPlainDelta, LONGEST_RUN, type Delta } from "./delta-run.ts";
import type { EventRow } from "./event-row.ts";

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
