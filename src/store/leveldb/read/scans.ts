/** The open scans. Each holds a snapshot with its files: deleted rows stay on disk until earlier scans have ended. */

import type {
  Database,
  KeyRange,
  Scan,
  ScanOptions,
  Snapshot,
  WriteBatch,
} from "../rows/database.ts";

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

  snapshot(): Snapshot {
    const snapshot = this.#inner.snapshot();
    // Changed in place: LevelDB takes its own object only.
    return Object.assign(snapshot, this.#held(snapshot));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #watched<Item>(scan: Scan<Item>): Scan<Item> {
    return { nextv: (size) => scan.nextv(size), ...this.#held(scan) };
  }

  #held(held: Snapshot): Snapshot {
    this.#open.set(held, Promise.withResolvers());
    const close = held.close.bind(held);
    return {
      close: async () => {
        try {
          await close();
        } finally {
          this.#open.get(held)?.resolve();
          this.#open.delete(held);
        }
      },
    };
  }
}
