/** The log of a store in a folder, or in memory: the log on LevelDB's engine, plus backup. */

import { resolve } from "node:path";
import type { BlobStore, CursorStore, EventLog } from "../../events/index.ts";
import { firstAbort } from "../../shared/index.ts";
import { check, code, implementation, name, optionsOf } from "../../validation/index.ts";
import { CheckedLog } from "../engine/index.ts";
import { closedError } from "../log-rules/log-errors.ts";
import {
  assertOutside,
  type Backup,
  type BackupOptions,
  backupStore,
  type MomentStore,
} from "./backup/backup-store.ts";
import { engineOnRows, type RowEngine, type RowEngineOptions } from "../row-engine/row-engine.ts";

/**
 * A log whose store can be copied.
 * @example
 * const log: StoreLog = await openLog({ dir: ".turnlog" });
 * await log.backup("../copies/monday");
 */
export interface StoreLog extends EventLog {
  /** The store's folder; undefined for a log in memory. */
  readonly dir: string | undefined;
  /** Whether the store is open for reading only: every change is refused with `LOG_READ_ONLY`. */
  readonly readOnly: boolean;
  readonly blobs: BlobStore;
  readonly cursors: CursorStore;
  /**
   * Copies the store into an empty folder, which {@link openLog} opens as an independent store. The
   * copy shows one moment: events, order, ids, snapshots and blobs, including every append that had
   * resolved before the call. The log stays usable during the copy. Everything is checked; a damaged store is not
   * copied. Until the copy is complete on disk, its folder cannot be opened.
   * @param dir - Outside of the store; created if it does not exist.
   * @throws TurnlogError `INVALID_INPUT` (the folder is not empty, or is inside the store),
   * `LOG_DAMAGED` (this store), `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED`, `LOG_CLOSED`; the signal's reason
   */
  backup(dir: string, options?: BackupOptions): Promise<Backup>;
}

const signal = implementation({ addEventListener: code });
const backupSchema = optionsOf<BackupOptions>({ onProgress: code, signal }, {});

export class LevelLog extends CheckedLog implements StoreLog {
  declare readonly blobs: BlobStore;
  declare readonly cursors: CursorStore;
  readonly dir: string | undefined;
  readonly readOnly: boolean;
  readonly #database: MomentStore;
  readonly #level: RowEngine;
  readonly #ending = new AbortController();
  /** The backups under way: they end before the store closes. */
  readonly #backups = new Set<Promise<unknown>>();

  constructor(database: MomentStore, options: RowEngineOptions) {
    const level = engineOnRows(database, options);
    super(level.engine);
    this.dir = options.dir;
    this.readOnly = options.readOnly ?? false;
    this.#database = database;
    this.#level = level;
  }

  async backup(dir: string, options: BackupOptions = {}): Promise<Backup> {
    this.assertOpen();
    check(name, dir, "backup", { name: "dir" });
    check(backupSchema, options, "backup", { name: "options" });
    const made = this.#backup(resolve(dir), options);
    this.#backups.add(made);
    return await made.finally(() => this.#backups.delete(made));
  }

  async #backup(dir: string, options: BackupOptions): Promise<Backup> {
    const { scans, committer } = this.#level;
    if (this.dir !== undefined) assertOutside(this.dir, dir);
    using ends = firstAbort(this.#ending.signal, options.signal);
    using _ = this.blobs.hold();
    const { indexed } = committer;
    return await backupStore(this.#database, this.blobs, dir, {
      ...options,
      hold: (snapshot) => scans.hold(snapshot),
      signal: ends.signal,
      indexed,
    });
  }

  protected override async end(): Promise<void> {
    this.#ending.abort(closedError());
    await Promise.allSettled(this.#backups);
    await super.end();
  }
}
