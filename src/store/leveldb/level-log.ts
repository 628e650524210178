/** The log of a store in a folder, or in memory: the log on LevelDB's engine, plus backup. */

import { resolve } from "node:path";
import type { BlobStore, CursorStore } from "../../events/index.ts";
import { firstAbort } from "../../shared/index.ts";
import { check, code, implementation, name, optionsOf } from "../../validation/index.ts";
import { CheckedLog } from "../engine/index.ts";
import { closedError } from "../log-rules/log-errors.ts";
import { assertOutside } from "./backup/backup-folder.ts";
import { type Backup, type BackupOptions, backupStore } from "./backup/backup-store.ts";
import { LevelEngine, type LevelEngineOptions } from "./level-engine.ts";
import type { Database } from "./rows/database.ts";
import type { StoreLog } from "./store-log.ts";

const signal = implementation({ addEventListener: code });
const backupSchema = optionsOf<BackupOptions>({ onProgress: code, signal }, {});

export class LevelLog extends CheckedLog implements StoreLog {
  declare readonly blobs: BlobStore;
  declare readonly cursors: CursorStore;
  readonly dir: string | undefined;
  readonly readOnly: boolean;
  readonly #engine: LevelEngine;
  readonly #backups: RunningBackups;

  constructor(database: Database, options: LevelEngineOptions) {
    const engine = new LevelEngine(database, options);
    super(engine);
    const { dir, blobs, readOnly = false } = options;
    this.dir = dir;
    this.readOnly = readOnly;
    this.#engine = engine;
    this.#backups = new RunningBackups(engine.database, blobs, dir);
  }

  async backup(dir: string, options: BackupOptions = {}): Promise<Backup> {
    this.assertOpen();
    check(name, dir, "backup", { name: "dir" });
    check(backupSchema, options, "backup", { name: "options" });
    return await this.#backups.make(dir, options, this.#engine.committer.indexed);
  }

  protected override async end(): Promise<void> {
    await this.#backups.abort(closedError());
    await super.end();
  }
}

// The backups of one open store: they end before it closes.

class RunningBackups {
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

  /** Aborts them all. Resolves when none runs. */
  async abort(why: Error): Promise<void> {
    this.#ending.abort(why);
    await Promise.allSettled(this.#running);
  }
}
