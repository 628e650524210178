/**
 * The part of abstract-level that the log uses, with keys and values as utf8 strings. `Level` and
 * `MemoryLevel` have this shape; tests insert a layer that fails.
 */

/** Keeps the rows of one moment for the scans that name it, until it is closed. */
export interface Snapshot {
  close(): Promise<void>;
}

export interface KeyRange {
  readonly snapshot?: Snapshot;
  readonly gte?: string;
  readonly gt?: string;
  readonly lt?: string;
  readonly lte?: string;
  readonly reverse?: boolean;
  readonly limit?: number;
}

/** LevelDB's own option: the most bytes that one `nextv` brings into memory. */
export interface ScanOptions extends KeyRange {
  readonly highWaterMarkBytes?: number;
}

/** An open scan. It holds a snapshot of the database until it is closed. */
export interface Scan<Item> {
  /** At most `size` items; none at the end. */
  nextv(size: number): Promise<Item[]>;
  close(): Promise<void>;
}

export interface WriteBatch {
  put(key: string, value: string): unknown;
  del(key: string): unknown;
  write(options: { readonly sync: boolean }): Promise<void>;
  close(): Promise<void>;
}

export interface RowStore {
  get(key: string): Promise<string | undefined>;
  getMany(keys: string[]): Promise<(string | undefined)[]>;
  iterator(options: ScanOptions): Scan<[string, string]>;
  keys(options: KeyRange): Scan<string>;
  values(options: ScanOptions): Scan<string>;
  batch(): WriteBatch;
  snapshot(): Snapshot;
  close(): Promise<void>;
}

/** What scans need of a database. */
export type Rows = Pick<RowStore, "iterator" | "keys" | "values">;

/**
 * The only item of a scan with `limit: 1`, or undefined; closes the scan. Requests two items:
 * LevelDB skips unreadable blocks and reports them only at the end of a scan.
 */
export async function firstOf<Item>(scan: Scan<Item>): Promise<Item | undefined> {
  try {
    return (await scan.nextv(2))[0];
  } finally {
    await scan.close();
  }
}

/** One row, by a scan: `get` trusts LevelDB's bloom filters, which have no checksum. */
export async function rowAt(database: Rows, key: string): Promise<string | undefined> {
  return firstOf(database.values({ gte: key, lte: key, limit: 1 }));
}

const PAGE = 256;

/** All rows of a range, page by page, to its end for the same reason. */
export async function* allRows(database: Rows, range: KeyRange): AsyncGenerator<[string, string]> {
  let rest: KeyRange = range;
  for (;;) {
    const page = await readPage(database, rest);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
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
  const scan = database.iterator({ ...range, limit: PAGE, highWaterMarkBytes: 1024 * 1024 });
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

/** The rows of this moment, no matter what is written later. It holds a snapshot until it is closed. */
export interface Moment extends Rows, Snapshot {}

export function momentOf(database: RowStore): Moment {
  const snapshot = database.snapshot();
  return {
    iterator: (options) => database.iterator({ ...options, snapshot }),
    keys: (options) => database.keys({ ...options, snapshot }),
    values: (options) => database.values({ ...options, snapshot }),
    close: () => snapshot.close(),
  };
}
