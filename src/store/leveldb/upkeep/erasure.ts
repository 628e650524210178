/**
 * Makes sure that what was deleted is gone from the files too. LevelDB keeps deleted rows until it
 * merges the tables that hold them, which a small store may never see; and a merge leaves what a
 * scan still reads. Sessions whose bytes may be there are noted in the store until they are not.
 */

import type { Committer } from "../write/index.ts";
import {
  allRows,
  rowAt,
  type Database,
  type WriteBatch,
  erasureFailure,
  erasureKey,
  rangesOf,
  under,
  withChecksum,
  type Span,
} from "../rows/index.ts";
import type { ScannedDatabase } from "../read/index.ts";

/** Moves all that was written into tables, and merges those that hold one of the spans. */
export type Eraser = (spans: readonly Span[]) => Promise<void>;

export interface ErasureOptions {
  readonly database: ScannedDatabase;
  readonly committer: Committer;
  /** Undefined where deleted rows leave nothing behind. */
  readonly eraser: Eraser | undefined;
}

export class Erasure {
  readonly #options: ErasureOptions;
  #last: Promise<unknown> = Promise.resolve();
  #isClosing = false;

  constructor(options: ErasureOptions) {
    this.#options = options;
  }

  /** The row to be written when a session is deleted; none where nothing is left behind. */
  note(session: string): readonly [key: string, row: string] | undefined {
    if (this.#options.eraser === undefined) return undefined;
    const key = erasureKey(session);
    return [key, withChecksum(key, [])];
  }

  /**
   * Answers whether the bytes of a session that was deleted are gone; if not, they go later.
   * @throws TurnlogError when the files could not be merged
   */
  async erase(session: string): Promise<boolean> {
    const { eraser, database } = this.#options;
    if (eraser === undefined) return true;
    // The note stays: the next opening erases.
    if (this.#isClosing) return false;
    // Whoever began to read before now reads what was there before.
    const before = database.underWay;
    const erasing = this.#last.then(() => this.#erase(session, eraser, before));
    this.#last = erasing.catch(() => {});
    const { readers } = await erasing.catch((error: unknown) => {
      throw erasureFailure(session, error);
    });
    if (readers === undefined) return true;
    // A failure is told to nobody: the note stays, and the next opening tries again.
    void readers.then(() => this.erase(session)).catch(() => {});
    return false;
  }

  /** Waits for what is under way; what waits for readers is left to the next opening. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#last;
  }

  /** Merges, and says who still reads what was there before, if anybody does. */
  async #erase(
    session: string,
    eraser: Eraser,
    before: Promise<unknown> | undefined,
  ): Promise<{ readonly readers: Promise<unknown> | undefined }> {
    const { committer, database } = this.#options;
    if (!(await this.#isNoted(session))) return { readers: undefined };
    const spans = spansOf(session);
    // Rows and their deletions may lie in one table, which is merged only with one above it.
    await eraser([]);
    await committer.write((rows) => touch(rows, spans));
    await eraser(spans);
    const readers = before ?? database.underWay;
    if (readers !== undefined) return { readers };
    await committer.write((rows) => rows.del(erasureKey(session)));
    // Files that were still read when the merge ended are looked for once more.
    await eraser([]);
    return { readers: undefined };
  }

  async #isNoted(session: string): Promise<boolean> {
    return (await rowAt(this.#options.database, erasureKey(session))) !== undefined;
  }
}

/** Erases what an earlier process could not, in a database that nobody reads yet. */
export async function eraseLeft(database: Database, eraser: Eraser): Promise<void> {
  const left = (await Array.fromAsync(allRows(database, under("x/")))).map(([key]) => key);
  if (left.length === 0) return;
  const spans = left.flatMap((key) => spansOf(key.slice(erasureKey("").length)));
  await eraser([]);
  const touched = database.batch();
  touch(touched, spans);
  await touched.write({ sync: true });
  await eraser(spans);
  const erased = database.batch();
  for (const key of left) erased.del(key);
  await erased.write({ sync: true });
}

/** LevelDB merges a table only with one that lies above it: this makes one, over all of each span. */
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
