/**
 * Writes queued appends. One batch is being written; all that arrives meanwhile becomes the next one. No
 * timer: a slower database makes larger batches.
 *
 * Another process may have written to a session. The database then refuses this session's part of the
 * batch: its head is read again, and its appends are decided anew, in order (`onRefused`).
 */

import type { Appended } from "../../../events/index.ts";
import {
  databaseFailure,
  isUnknownOutcome,
  retrying,
  sqlState,
  type SqlPool,
} from "../database/index.ts";
import type { Head } from "../heads/index.ts";
import {
  addTo,
  complete,
  shareOf,
  writeBatch,
  type CompleteShare,
  type SessionShare,
  type Written,
} from "./batch.ts";
import type { QueuedAppend } from "./queued-append.ts";
import { isCommitted } from "./unknown-outcome.ts";

/** Characters of rows: a batch that is larger takes no more appends. */
const BATCH_SIZE = 1024 * 1024;
/** SQLSTATE deadlock_detected. */
const DEADLOCK = "40P01";

export interface CommitterOptions {
  readonly pool: SqlPool;
  readonly schema: string;
  readonly onRefused: (head: Head, appends: readonly QueuedAppend[]) => void;
  /** Called after each written batch, once its appends have resolved. */
  readonly onWritten: (sessions: readonly string[]) => void;
  /** Called when a write failed: the head may differ from the database. */
  readonly onFailed: (head: Head) => void;
}

export class Committer {
  readonly #options: CommitterOptions;
  #queue: QueuedAppend[] = [];
  #writing: Promise<void> | undefined;
  #batch: Promise<void> = Promise.resolve();
  /** The row of the global order that the next small batch joins. */
  #row = 0;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  append(append: QueuedAppend): Promise<Appended> {
    append.head.queued++;
    for (const row of append.rows) append.head.tail?.push(row);
    this.#queue.push(append);
    this.#writing ??= this.#run();
    return append.answer.promise;
  }

  /** Resolves when everything that is queued is written or refused. */
  async idle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** Resolves when the appends of the batch that is being written have resolved. */
  async answered(): Promise<void> {
    await this.#batch;
  }

  async #run(): Promise<void> {
    // Appends of the same tick share the first batch.
    await Promise.resolve();
    try {
      while (this.#queue.length > 0) {
        this.#batch = this.#write(this.#take());
        await this.#batch;
      }
    } finally {
      this.#writing = undefined;
    }
  }

  #take(): readonly CompleteShare[] {
    const shares = new Map<Head, SessionShare>();
    let size = 0;
    let taken = 0;
    for (const append of this.#queue) {
      if (size > BATCH_SIZE) break;
      const share = shares.get(append.head) ?? shareOf(append);
      if (isOfAnotherClaim(share, append)) break;
      shares.set(append.head, share);
      addTo(share, append);
      for (const { row } of append.rows) size += row.length;
      taken++;
    }
    this.#queue = this.#queue.slice(taken);
    // In one order in every process: appends of several ones then do not wait for each other in a circle.
    return [...shares.values()].toSorted(byName).map(complete);
  }

  async #write(shares: readonly CompleteShare[]): Promise<void> {
    const { onWritten } = this.#options;
    let result: Written;
    try {
      result = await this.#written(shares);
    } catch (error) {
      await Promise.all(shares.map((share) => this.#failed(share, error)));
      for (const { head } of shares) head.tail?.advance(head.committed);
      onWritten([]);
      return;
    }
    this.#row = result.batch;
    const written: string[] = [];
    for (const [index, share] of shares.entries()) {
      const { head } = share;
      const outcome = result.outcomes[index];
      if (outcome === undefined) this.#refused(share);
      else {
        head.number = outcome.number;
        this.#accepted(share, outcome.first);
        written.push(head.session);
      }
    }
    // A caller that waits for its append continues before subscribers see the events.
    await Promise.resolve();
    for (const { head } of shares) head.tail?.advance(head.committed);
    onWritten(written);
  }

  async #written(shares: readonly CompleteShare[]): Promise<Written> {
    const { pool, schema } = this.#options;
    for (;;) {
      try {
        return await writeBatch(pool, schema, shares, this.#row);
      } catch (error) {
        // A circle after all, with another release: nothing of this batch was written.
        if (sqlState(error) !== DEADLOCK) throw error;
      }
    }
  }

  #accepted({ head, appends, base, revision, ids }: SessionShare, first: number): void {
    head.committed = Math.max(head.committed, revision);
    for (const { id } of ids) head.ids.delete(id);
    for (const { base: before, events, answer } of appends) {
      head.queued--;
      const end = before + events.length;
      answer.resolve({ revision: end, position: first + end - base - 1, repeated: false });
    }
  }

  #refused(share: SessionShare): void {
    this.#options.onRefused(share.head, this.#withdraw(share));
  }

  async #failed(share: CompleteShare, error: unknown): Promise<void> {
    const { pool, schema, onFailed } = this.#options;
    const { head } = share;
    let failure = error;
    if (isUnknownOutcome(error)) {
      try {
        const global = await isCommitted(retrying(pool), schema, share);
        if (global !== undefined) return this.#accepted(share, global);
        // Nothing was written: what names its position may be written now, and only once.
        if (
          share.appends.every(({ expected }) => expected === "none" || typeof expected === "number")
        )
          return this.#refused(share);
      } catch (again) {
        failure = again;
      }
    }
    const why = databaseFailure(failure, `Appending to session ${head.session}`);
    for (const { answer } of this.#withdraw(share)) answer.reject(why);
    onFailed(head);
  }

  /** The appends of a share and those behind it, which build on it. */
  #withdraw({ head, appends: written }: SessionShare): readonly QueuedAppend[] {
    const behind = this.#queue.filter((append) => append.head === head);
    this.#queue = this.#queue.filter((append) => append.head !== head);
    const appends = [...written, ...behind];
    head.queued -= appends.length;
    head.ids.clear();
    head.tail?.forget();
    return appends;
  }
}

/** All appends of a session's share are accepted, or none. */
function isOfAnotherClaim({ epoch }: SessionShare, { options }: QueuedAppend): boolean {
  return epoch !== undefined && options.epoch !== undefined && epoch !== options.epoch;
}

function byName({ head: one }: SessionShare, { head: other }: SessionShare): number {
  return one.session < other.session ? -1 : 1;
}
