/**
 * The newest deltas of a session's open block, which share one row that its log writes again with each of them. A
 * block's first delta has a row of its own: many blocks have one delta.
 */

import { continues, isPlainDelta, textOf, type Delta, LONGEST_RUN } from "./delta-run.ts";
import { mergedRow, type EventRow } from "./event-row.ts";

/** The row is written again for each delta: a longer one costs more than a row for the next ones. */
const MOST_DELTAS = 64;
const MOST_BYTES = 1024;
/** Rows with more deltas are not written again. */
const LONG_ENOUGH = 16;

/** Rows to write, and the place of the open row that is stored. */
export interface TakenRows {
  /** Rows that do not change any more. */
  readonly rows: readonly EventRow[];
  readonly open: EventRow | undefined;
  /** The stored open row moves unchanged to the other rows, or the rows here contain it, or none is stored. */
  readonly stored: "moves" | "is contained" | "none";
}

/** Takes the rows of a session's appends, and joins deltas that belong in one row. */
export class OpenRow {
  #session: string;
  #rows: EventRow[] = [];
  #deltas = 0;
  #bytes = 0;
  /** The last delta, if nothing follows it. */
  #last: Delta | undefined;
  /** How many of the rows are stored; undefined before the first write, when the stored row is unknown. */
  #stored: number | undefined;

  constructor(session: string) {
    this.#session = session;
  }

  /** Whether a delta that comes next may belong to its last one. */
  get isOpen(): boolean {
    return this.#last !== undefined;
  }

  /** Another process may have written. */
  clear(): void {
    this.#forget();
    this.#last = undefined;
    this.#stored = undefined;
  }

  /** Takes the session's next rows, which are written together. */
  take(next: readonly EventRow[]): TakenRows {
    const before = this.#stored;
    let stored: TakenRows["stored"] = before === 0 ? "none" : "moves";
    const rows: EventRow[] = [];
    const close = (): void => {
      if (this.#rows.length > (this.#stored ?? 0)) {
        if ((this.#stored ?? 0) > 0) stored = "is contained";
        rows.push(...this.#joined());
      }
      this.#forget();
      this.#stored = 0;
    };
    for (const row of next) {
      const deltas = row.events.filter(isPlainDelta);
      const [first] = deltas;
      const goesOn =
        first !== undefined && this.#last !== undefined && continues(this.#last, first);
      const bytes = deltas.reduce((sum, delta) => sum + Buffer.byteLength(textOf(delta)), 0);
      const isSmall = deltas.length < LONG_ENOUGH && bytes < MOST_BYTES;
      const fits = this.#deltas + deltas.length <= MOST_DELTAS && this.#bytes + bytes <= MOST_BYTES;
      if (!goesOn || !isSmall || !fits) close();
      if (goesOn && isSmall) {
        this.#rows.push(row);
        this.#deltas += deltas.length;
        this.#bytes += bytes;
      } else rows.push(row);
      this.#last = deltas.at(-1);
    }
    const [open] = this.#joined();
    if (open !== undefined && (this.#stored ?? 0) > 0) stored = "is contained";
    this.#stored = this.#rows.length;
    return { rows, open, stored };
  }

  #joined(): readonly EventRow[] {
    if (this.#rows.length <= 1) return this.#rows;
    const joined = mergedRow(this.#session, this.#rows);
    return joined === undefined ? [] : [joined];
  }

  #forget(): void {
    this.#rows = [];
    this.#deltas = 0;
    this.#bytes = 0;
  }
}

// Collects a session's small rows, which its log merges later: a slow stream makes a row of each delta.

/** Rows with more deltas on average are not merged: writing them again costs more than it saves. */
const LONG_VALUE = 16;

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
    const isWorthIt = over.length > 1 && this.#events < LONG_VALUE * over.length;
    this.#first = delta;
    this.#rows = delta === undefined ? [] : [row];
    this.#events = delta === undefined ? 0 : row.events.length;
    return isWorthIt ? over : [];
  }
}
