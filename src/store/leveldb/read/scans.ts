/** The open scans. Each holds a snapshot with its files: deleted rows stay on disk until earlier scans have ended. */

import type { Database, KeyRange, Scan, ScanOptions, WriteBatch } from "../rows/index.ts";

export class ScannedDatabase implements Database {
  readonly #inner: Database;
  readonly #open = new Map<object, PromiseWithResolvers<void>>();

  constructor(inner: Database) {
    this.#inner = inner;
  }

  /** Resolves when the scans that are open now have ended; undefined if there is none. */
  get underWay(): Promise<unknown> | undefined {
    if (this.#open.size === 0) return undefined;
    return Promise.all([...this.#open.values()].map(({ promise }) => promise));
  }

  get(key: string): Promise<string | undefined> {
    return this.#inner.get(key);
  }

  getMany(keys: string[]): Promise<(string | undefined)[]> {
    return this.#inner.getMany(keys);
  }

  iterator(options: ScanOptions): Scan<[string, string]> {
    return this.#watched(this.#inner.iterator(options));
  }

  keys(options: KeyRange): Scan<string> {
    return this.#watched(this.#inner.keys(options));
  }

  values(options: ScanOptions): Scan<string> {
    return this.#watched(this.#inner.values(options));
  }

  batch(): WriteBatch {
    return this.#inner.batch();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #watched<Item>(scan: Scan<Item>): Scan<Item> {
    this.#open.set(scan, Promise.withResolvers());
    return {
      nextv: (size) => scan.nextv(size),
      close: async () => {
        try {
          await scan.close();
        } finally {
          this.#open.get(scan)?.resolve();
          this.#open.delete(scan);
        }
      },
    };
  }
}
