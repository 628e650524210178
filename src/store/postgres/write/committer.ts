/**
 * Writes queued appends. One batch is being written; all that arrives meanwhile becomes the next one. No
 * timer: a slower database makes larger batches.
 *
 * Another process may have written to a session. The database then refuses this session's part of the
 * batch: its head is read again, and its appends are decided anew, in order (`onRefused`).
 */

import type { Appended } from "../../../events/index.ts";
import { databaseFailure, isUnknownOutcome, retrying, type SqlPool } from "../database/index.ts";
import type { Head } from "../heads/index.ts";
import { addTo, shareOf, writeBatch, type Outcome, type SessionShare } from "./batch.ts";
import type { QueuedAppend } from "./queued-append.ts";
import { isCommitted } from "./unknown-outcome.ts";

/** Characters of rows: a batch that is larger takes no more appends. */
const BATCH_SIZE = 1024 * 1024;

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

  #take(): ReadonlyMap<Head, SessionShare> {
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
    return shares;
  }

  async #write(shares: ReadonlyMap<Head, SessionShare>): Promise<void> {
    const { pool, schema, onWritten } = this.#options;
    const entries = [...shares].map(([head, share]) => [head.session, share] as const);
    let outcomes: readonly Outcome[];
    try {
      outcomes = await writeBatch(pool, schema, entries);
    } catch (error) {
      await Promise.all([...shares].map(([head, share]) => this.#failed(head, share, error)));
      for (const [head] of shares) head.tail?.advance(head.committed);
      onWritten([]);
      return;
    }
    const written: string[] = [];
    for (const [index, [head, share]] of [...shares].entries()) {
      const outcome = outcomes[index];
      if (outcome?.accepted === true && outcome.first_position !== null) {
        head.number = outcome.number ?? head.number;
        this.#accepted(head, share, outcome.first_position);
        written.push(head.session);
      } else this.#refused(head, share);
    }
    // A caller that waits for its append continues before subscribers see the events.
    await Promise.resolve();
    for (const [head] of shares) head.tail?.advance(head.committed);
    onWritten(written);
  }

  #accepted(head: Head, { appends, base, revision, ids }: SessionShare, first: number): void {
    head.committed = Math.max(head.committed, revision);
    for (const { id } of ids) head.ids.delete(id);
    for (const { base: before, events, answer } of appends) {
      head.queued--;
      const end = before + events.length;
      answer.resolve({ revision: end, position: first + end - base - 1, repeated: false });
    }
  }

  #refused(head: Head, share: SessionShare): void {
    this.#options.onRefused(head, this.#withdraw(head, share));
  }

  async #failed(head: Head, share: SessionShare, error: unknown): Promise<void> {
    const { pool, schema, onFailed } = this.#options;
    let failure = error;
    if (isUnknownOutcome(error)) {
      try {
        const global = await isCommitted(retrying(pool), schema, head.session, share);
        if (global !== undefined) return this.#accepted(head, share, global);
        // Nothing was written: what names its position may be written now, and only once.
        if (
          share.appends.every(({ expected }) => expected === "none" || typeof expected === "number")
        )
          return this.#refused(head, share);
      } catch (again) {
        failure = again;
      }
    }
    const why = databaseFailure(failure, `Appending to session ${head.session}`);
    for (const { answer } of this.#withdraw(head, share)) answer.reject(why);
    onFailed(head);
  }

  /** The appends of a share and those behind it, which build on it. */
  #withdraw(head: Head, share: SessionShare): readonly QueuedAppend[] {
    const behind = this.#queue.filter((append) => append.head === head);
    this.#queue = this.#queue.filter((append) => append.head !== head);
    const appends = [...share.appends, ...behind];
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
