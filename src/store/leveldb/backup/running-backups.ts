/** The backups of one open store: they end before it closes, and no session is written in parts meanwhile. */

import { resolve } from "node:path";
import type { BlobStore } from "../../../events/index.ts";
import { firstAbort } from "../../../shared/index.ts";
import type { Database } from "../rows/database.ts";
import { assertOutside } from "./backup-folder.ts";
import { backupStore, type Backup, type BackupOptions } from "./backup-store.ts";

export class RunningBackups {
  readonly #database: Database;
  readonly #blobs: BlobStore;
  readonly #dir: string | undefined;
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  /** `dir`: the folder of the store, if it has one. */
  constructor(database: Database, blobs: BlobStore, dir: string | undefined) {
    this.#database = database;
    this.#blobs = blobs;
    this.#dir = dir;
  }

  /** `indexed`: the global position up to which the index rows are complete. */
  async make(dir: string, options: BackupOptions, indexed: number): Promise<Backup> {
    const made = this.#make(resolve(dir), options, indexed);
    this.#running.add(made);
    return await made.finally(() => this.#running.delete(made));
  }

  async #make(dir: string, options: BackupOptions, indexed: number): Promise<Backup> {
    if (this.#dir !== undefined) assertOutside(this.#dir, dir);
    using ends = firstAbort(this.#ending.signal, options.signal);
    const { signal } = ends;
    using _ = this.#blobs.hold();
    return await backupStore(this.#database, this.#blobs, dir, { ...options, signal, indexed });
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Aborts them all. Resolves when none runs. */
  async abort(why: Error): Promise<void> {
    this.#ending.abort(why);
    await this.settled();
  }
}
