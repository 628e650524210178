/**
 * The newest events of a followed session, shared by all its subscribers: each row is decoded once,
 * by the first subscriber that needs it. The size is bounded; a slow subscriber reads from the log.
 */

import type { EventRow } from "../event-rows/index.ts";
import { type SessionEvent, type TurnlogError, deepFreeze } from "../../events/index.ts";

/** The least number of rows in memory, of at most 256 events each. */
const CAPACITY = 64;
/** Characters of a row that is not kept as text: its event shares its texts with the caller's. */
const LONG = 1024 * 1024;

interface TailRow {
  readonly from: number;
  readonly to: number;
  /** The queued row, replaced by its events at the first read. */
  held: { readonly row: EventRow } | { readonly events: readonly SessionEvent[] };
}

export class LiveTail {
  failure: TurnlogError | undefined;
  subscriptions = 0;
  readonly #decode: (row: EventRow) => readonly SessionEvent[];
  #committed = 0;
  /** The last position whose queued row is known to be written. */
  #written = 0;
  readonly #rows: TailRow[] = [];
  #next: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(decode: (row: EventRow) => readonly SessionEvent[]) {
    this.#decode = decode;
  }

  /** The last position that subscribers may see. */
  get committed(): number {
    return this.#committed;
  }

  /** Adds a queued row. Subscribers see it once it is written. */
  push(row: EventRow): void {
    const from = row.position - row.events.length + 1;
    if (this.#rows.at(-1)?.to !== from - 1) this.#rows.length = 0;
    this.#rows.push({ from, to: row.position, held: this.#held(row) });
    if (this.#rows.length >= 2 * CAPACITY) this.#rows.splice(0, CAPACITY);
  }

  /** The written events of one row from a position on, if the row is still in memory. */
  from(position: number): readonly SessionEvent[] | undefined {
    if (position > this.#committed) return undefined;
    const found = this.#rows.findLast(({ from }) => from <= position);
    if (found === undefined || found.to < position) return undefined;
    const { held, from } = found;
    const events = "events" in held ? held.events : this.#events(held.row);
    found.held = { events };
    return position === from ? events : events.slice(position - from);
  }

  #held(row: EventRow): TailRow["held"] {
    return row.row.length > LONG ? { events: this.#events(row) } : { row };
  }

  /** Frozen, since all subscribers get the same objects. */
  #events(row: EventRow): readonly SessionEvent[] {
    return deepFreeze(this.#decode(row));
  }

  /** Queued rows up to this position are written. */
  advance(committed: number): void {
    this.#written = Math.max(this.#written, committed);
    this.#show(committed);
  }

  /**
   * The store has events up to this position, which another process may have written: a row that is queued here
   * for one of these positions may be refused. Subscribers read the store.
   */
  learn(committed: number): void {
    if (committed > this.#written) {
      const doubtful = this.#rows.findIndex(({ to }) => to > this.#written);
      if (doubtful !== -1) this.#rows.length = doubtful;
    }
    this.#show(committed);
  }

  #show(committed: number): void {
    if (committed <= this.#committed) return;
    this.#committed = committed;
    this.notify();
  }

  /** Drops all rows, since they may not match the store. */
  forget(): void {
    this.#rows.length = 0;
  }

  /** Ends the tail with an error for every subscriber. */
  fail(error: TurnlogError): void {
    this.failure = error;
    this.#rows.length = 0;
    this.notify();
  }

  notify(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  get changed(): Promise<void> {
    return this.#next.promise;
  }
}
