/**
 * Removes deleted bytes from the files: LevelDB keeps them until it merges their tables, which a small
 * store may never do, and while an open scan reads them. A note names each session whose bytes may
 * remain.
 */

import { withChecksum } from "../rows/commit-record.ts";
import {
  allRows,
  rowAt,
  type RowStore,
  type WriteBatch,
  type KeyRange,
  type Scan,
} from "../rows/row-store.ts";
import { erasureFailure } from "../rows/failures.ts";
import { erasureKey, rangesOf, under, sessionIn } from "../rows/keys.ts";
import type { Span } from "../rows/spare-rows.ts";
import type { Committer } from "../write/committer.ts";

/** Moves all rows into tables, and merges the tables of these spans. */
export type Eraser = (spans: readonly Span[]) => Promise<void>;

export interface ErasureOptions {
  readonly database: ScannedStore;
  readonly committer: Committer;
  /** Undefined if deleted rows leave nothing behind. */
  readonly eraser: Eraser | undefined;
}

export class Erasure {
  readonly #options: ErasureOptions;
  #last: Promise<unknown> = Promise.resolve();
  #isClosing = false;

  constructor(options: ErasureOptions) {
    this.#options = options;
  }

  /** The note to write when a session is deleted; undefined if nothing is left behind. */
  note(session: string): readonly [key: string, row: string] | undefined {
    if (this.#options.eraser === undefined) return undefined;
    const key = erasureKey(session);
    return [key, withChecksum(key, [])];
  }

  /** Returns whether the bytes are gone; if not, they go later. @throws TurnlogError when merging fails */
  async erase(session: string): Promise<boolean> {
    const { eraser, database } = this.#options;
    if (eraser === undefined) return true;
    // The note remains: the next opening erases.
    if (this.#isClosing) return false;
    // Scans that began before may still read the deleted rows.
    const before = database.underWay;
    const erasing = this.#last.then(() => this.#erase(session, eraser, before));
    this.#last = erasing.catch(() => {});
    const { readers } = await erasing.catch((error: unknown) => {
      throw erasureFailure(session, error);
    });
    if (readers === undefined) return true;
    // Errors are ignored here: the note remains, and the next opening tries again.
    void readers.then(() => this.erase(session)).catch(() => {});
    return false;
  }

  /** Waits for running merges. Those that wait for readers are left to the next opening. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#last;
  }

  /** Merges, and returns the scans that still read the deleted rows. */
  async #erase(
    session: string,
    eraser: Eraser,
    before: Promise<unknown> | undefined,
  ): Promise<{ readonly readers: Promise<unknown> | undefined }> {
    const { committer, database } = this.#options;
    if (!(await this.#isNoted(session))) return { readers: undefined };
    const spans = spansOf(session);
    // Rows and their deletions may be in one table, which LevelDB merges only with one above it.
    await eraser([]);
    await committer.write((rows) => touch(rows, spans));
    await eraser(spans);
    const readers = before ?? database.underWay;
    if (readers !== undefined) return { readers };
    await committer.write((rows) => rows.del(erasureKey(session)));
    // Removes files that were still open when the merge ended.
    await eraser([]);
    return { readers: undefined };
  }

  async #isNoted(session: string): Promise<boolean> {
    return (await rowAt(this.#options.database, erasureKey(session))) !== undefined;
  }
}

/** Erases what an earlier process could not, before anything reads the database. */
export async function eraseLeft(database: RowStore, eraser: Eraser): Promise<void> {
  const notes = (await Array.fromAsync(allRows(database, under("x/")))).map(([key]) => key);
  if (notes.length === 0) return;
  const spans = notes.flatMap((key) => spansOf(sessionIn(key)));
  await eraser([]);
  const touched = database.batch();
  touch(touched, spans);
  await touched.write({ sync: true });
  await eraser(spans);
  const erased = database.batch();
  for (const key of notes) erased.del(key);
  await erased.write({ sync: true });
}

/** LevelDB merges a table only with one above it: this creates one over all of each span. */
function touch(rows: Pick<WriteBatch, "del">, spans: readonly Span[]): void {
  for (const { from, to } of spans) {
    rows.del(from);
    rows.del(to);
  }
}

function spansOf(session: string): readonly Span[] {
  return rangesOf(session).map((range) => {
    const { gte: from, lt: to } = under(range);
    return { from, to };
  });
}

// The open scans. Each holds a snapshot with its files: deleted rows stay on disk until earlier scans have ended.

export class ScannedStore implements RowStore {
  readonly #inner: RowStore;
  /** Maps each open scan to the promise of its end. The promise exists only if a caller waits for it. */
  readonly #open = new Map<object, PromiseWithResolvers<void> | undefined>();

  constructor(inner: RowStore) {
    this.#inner = inner;
  }

  /** Resolves when the scans that are open now have ended; undefined if there is none. */
  get underWay(): Promise<unknown> | undefined {
    if (this.#open.size === 0) return undefined;
    const ends = [...this.#open].map(([held, known]) => {
      const end = known ?? Promise.withResolvers<void>();
      this.#open.set(held, end);
      return end.promise;
    });
    return Promise.all(ends);
  }

  get findsAll(): boolean | undefined {
    return this.#inner.findsAll;
  }

  getMany(keys: string[]): Promise<(string | undefined)[]> {
    return this.#inner.getMany(keys);
  }

  iterator(range: KeyRange): Scan {
    return this.hold(this.#inner.iterator(range));
  }

  batch(): WriteBatch {
    return this.#inner.batch();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Deleted rows stay until this is closed. It is changed in place: LevelDB takes its own objects only. */
  hold<Held extends Pick<Scan, "close">>(held: Held): Held {
    this.#open.set(held, undefined);
    const close = held.close.bind(held);
    return Object.assign(held, {
      close: async () => {
        try {
          await close();
        } finally {
          this.#open.get(held)?.resolve();
          this.#open.delete(held);
        }
      },
    });
  }
}
