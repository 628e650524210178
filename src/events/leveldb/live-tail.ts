/**
 * The newest rows of a session that somebody follows, shared by all its subscribers. Its size is
 * bounded: who falls behind it reads from the log.
 */

const CAPACITY = 1024;

export class LiveTail {
  /** How many subscriptions there are. */
  subscriptions = 0;
  #committed = 0;
  /** Rows by position, a ring. */
  readonly #rows: string[] = [];
  #last = 0;
  #wake: PromiseWithResolvers<void> = Promise.withResolvers();

  /** The last position that subscribers may be shown. */
  get committed(): number {
    return this.#committed;
  }

  /** Keeps a row that is queued; it is shown when it is written. */
  push(seq: number, row: string): void {
    if (seq !== this.#last + 1) this.#rows.length = 0;
    this.#last = seq;
    this.#rows.push(row);
    if (this.#rows.length >= 2 * CAPACITY) this.#rows.splice(0, CAPACITY);
  }

  /** The row at a position that is written, when it is still here. */
  at(seq: number): string | undefined {
    return seq > this.#committed ? undefined : this.#rows[seq - this.#last - 1 + this.#rows.length];
  }

  advance(committed: number): void {
    if (committed <= this.#committed) return;
    this.#committed = committed;
    this.wake();
  }

  /** Forgets rows of which nobody knows whether they were written. */
  forget(): void {
    this.#rows.length = 0;
    this.#last = 0;
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
