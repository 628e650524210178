/** Fills a new database in batches, which need not be atomic yet. */

import type { Database, WriteBatch } from "../rows/index.ts";

const ROWS_PER_BATCH = 1000;

export class BatchWriter {
  readonly #database: Database;
  #batch: WriteBatch;
  #rows = 0;

  constructor(database: Database) {
    this.#database = database;
    this.#batch = database.batch();
  }

  async put(key: string, row: string): Promise<void> {
    this.#batch.put(key, row);
    if (++this.#rows >= ROWS_PER_BATCH) await this.flush();
  }

  async flush(): Promise<void> {
    await this.#batch.write({ sync: false });
    this.#batch = this.#database.batch();
    this.#rows = 0;
  }
}
