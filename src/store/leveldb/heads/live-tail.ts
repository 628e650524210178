/**
 * The newest events of a session that somebody follows, shared by all its subscribers: each row is
 * read once, by whoever comes to it first. Its size is bounded: who falls behind it reads from the log.
 */

import { type SessionEvent, type TurnlogError, deepFreeze } from "../../../events/index.ts";
import type { EventRow } from "../rows/index.ts";

/** Rows that are kept at least, of at most 256 events each. */
const CAPACITY = 64;

interface TailRow {
  readonly from: number;
  readonly to: number;
  /** As it was queued, until somebody reads it: then only its events are kept. */
  held: { readonly row: EventRow } | { readonly events: readonly SessionEvent[] };
}

export class LiveTail {
  /** Why nothing comes any more. */
  failure: TurnlogError | undefined;
  /** How many subscriptions there are. */
  subscriptions = 0;
  readonly #decode: (row: EventRow) => readonly SessionEvent[];
  #committed = 0;
  /** By position, without a gap. */
  readonly #rows: TailRow[] = [];
  #wake: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(decode: (row: EventRow) => readonly SessionEvent[]) {
    this.#decode = decode;
  }

  /** The last position that subscribers may be shown. */
  get committed(): number {
    return this.#committed;
  }

  /** Keeps a row that is queued; it is shown when it is written. */
  push(row: EventRow): void {
    const from = row.position - row.events.length + 1;
    if (this.#rows.at(-1)?.to !== from - 1) this.#rows.length = 0;
    this.#rows.push({ from, to: row.position, held: { row } });
    if (this.#rows.length >= 2 * CAPACITY) this.#rows.splice(0, CAPACITY);
  }

  /** The written events from a position on that share its row, when that is still here. */
  from(position: number): readonly SessionEvent[] | undefined {
    if (position > this.#committed) return undefined;
    const found = this.#rows.findLast(({ from }) => from <= position);
    if (found === undefined || found.to < position) return undefined;
    const { held, from } = found;
    // Frozen, as all subscribers are shown the same ones.
    const events = "events" in held ? held.events : deepFreeze(this.#decode(held.row));
    found.held = { events };
    return position === from ? events : events.slice(position - from);
  }

  advance(committed: number): void {
    if (committed <= this.#committed) return;
    this.#committed = committed;
    this.wake();
  }

  /** Forgets rows of which nobody knows whether they were written. */
  forget(): void {
    this.#rows.length = 0;
  }

  /** Nothing comes any more: everybody is told why. */
  fail(error: TurnlogError): void {
    this.failure = error;
    this.#rows.length = 0;
    this.wake();
  }

  /** Lets everybody look again. */
  wake(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  /** Resolves at the next wake. */
  get woken(): Promise<void> {
    return this.#wake.promise;
  }
}
