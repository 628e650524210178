/**
 * The port under `rowEngine`: a store of rows of text by key, in the order of the keys' UTF-8 bytes. It is the part of
 * abstract-level that the engine uses, so `Level` and `MemoryLevel` have this shape; tests insert a layer that fails.
 * `docs/engines.md` shows how to write one.
 */

import type { Span } from "./spare-rows.ts";

/** All keys, or those between two, both with `gte` and `lte` included. */
export interface KeyRange {
  readonly gte?: string;
  readonly gt?: string;
  readonly lt?: string;
  readonly lte?: string;
  readonly reverse?: boolean;
  readonly limit?: number;
  /** LevelDB's own option: the most bytes that one `nextv` brings into memory. */
  readonly highWaterMarkBytes?: number;
}

/** An open scan. What is written meanwhile, it may show or not, but each row as a whole. */
export interface Scan {
  /** At most `size` rows; none at the end. */
  nextv(size: number): Promise<[key: string, row: string][]>;
  close(): Promise<void>;
}

/** Changes that are made together or not at all. */
export interface WriteBatch {
  put(key: string, row: string): unknown;
  del(key: string): unknown;
  /** Resolves when the changes can be read; with `sync`, when they survive a power cut too. */
  write(options: { readonly sync: boolean }): Promise<void>;
  /** Called instead of `write` where the changes are not wanted any more. */
  close(): Promise<void>;
}

/** A store of rows that one process has open. */
export interface RowStore {
  /** Reads the rows with these keys; undefined for a key without a row. */
  getMany(keys: string[]): Promise<(string | undefined)[]>;
  /** Whether `getMany` finds all rows. Default: false, since LevelDB trusts its bloom filters, which have no checksum. */
  readonly findsAll?: boolean | undefined;
  iterator(range: KeyRange): Scan;
  batch(): WriteBatch;
  /** Whether others may follow a failed write, since it leaves the store as it was. Default: false. */
  readonly undoes?: boolean;
  /**
   * Optional: removes the bytes that deleted rows between these keys may have left behind. It is called with no span
   * too, to move rows to where they can be removed.
   */
  erase?(spans: readonly Span[]): Promise<void>;
  close(): Promise<void>;
}

/** What scans need of a store. */
export type Rows = Pick<RowStore, "iterator"> & Partial<Pick<RowStore, "getMany" | "findsAll">>;

/**
 * The first row of a range, or undefined. Requests two: LevelDB skips unreadable blocks and reports them only at the
 * end of a scan.
 */
export async function firstOf(
  rows: Rows,
  range: KeyRange,
): Promise<[key: string, row: string] | undefined> {
  const scan = rows.iterator({ ...range, limit: 1 });
  try {
    return (await scan.nextv(2))[0];
  } finally {
    await scan.close();
  }
}

/** One row. */
export async function rowAt(rows: Rows, key: string): Promise<string | undefined> {
  return (await rowsAt(rows, [key]))[0];
}

/** The rows under these keys. */
export async function rowsAt(rows: Rows, keys: string[]): Promise<(string | undefined)[]> {
  if (rows.findsAll === true && rows.getMany !== undefined) return await rows.getMany(keys);
  const found = keys.map((key) => firstOf(rows, { gte: key, lte: key }));
  return (await Promise.all(found)).map((row) => row?.[1]);
}

const PAGE = 256;

/** All rows of a range, page by page, to its end for the same reason. `limit`: the most rows of a page. */
export async function* allRows(database: Rows, range: KeyRange): AsyncGenerator<[string, string]> {
  const limit = Math.min(range.limit ?? PAGE, PAGE);
  let rest: KeyRange = { ...range, limit };
  for (;;) {
    const page = await readPage(database, rest);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return;
    const { gte: _, ...upper } = rest;
    rest = { ...upper, gt: last[0] };
  }
}

/** All rows of a range at one moment, even if they are replaced during the read. */
export async function* rowsAtOnce(
  database: Rows,
  range: KeyRange,
): AsyncGenerator<[string, string]> {
  const scan = database.iterator({ ...range, highWaterMarkBytes: 1024 * 1024 });
  try {
    for (;;) {
      const rows = await scan.nextv(PAGE);
      if (rows.length === 0) return;
      yield* rows;
    }
  } finally {
    await scan.close();
  }
}

async function readPage(database: Rows, range: KeyRange): Promise<[string, string][]> {
  const scan = database.iterator({ ...range, highWaterMarkBytes: 1024 * 1024 });
  const page: [string, string][] = [];
  try {
    for (;;) {
      const rows = await scan.nextv(PAGE + 1);
      if (rows.length === 0) return page;
      page.push(...rows);
    }
  } finally {
    await scan.close();
  }
}

const ROWS_PER_BATCH = 1000;

/** Fills a new database in batches, which need not be atomic yet. */
export class BatchWriter {
  readonly #database: RowStore;
  #batch: WriteBatch;
  #rows = 0;

  constructor(database: RowStore) {
    this.#database = database;
    this.#batch = database.batch();
  }

  async put(key: string, row: string): Promise<void> {
    this.#batch.put(key, row);
    if (++this.#rows >= ROWS_PER_BATCH) await this.flush();
  }

  async del(key: string): Promise<void> {
    this.#batch.del(key);
    if (++this.#rows >= ROWS_PER_BATCH) await this.flush();
  }

  async flush(): Promise<void> {
    await this.#batch.write({ sync: false });
    this.#batch = this.#database.batch();
    this.#rows = 0;
  }
}
