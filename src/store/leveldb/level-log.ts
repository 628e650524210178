/** The log on any abstract-level database: validates calls and passes them to appender, readers and upkeep. */

import { check, name } from "../../validation/index.ts";
import {
  appendSchema,
  backupSchema,
  deleteSchema,
  followSchema,
  listSchema,
  readAllSchema,
  readSchema,
  trimSchema,
} from "./log-schemas.ts";
import {
  type NewEvent,
  type SessionEvent,
  type BlobStore,
  createCodec,
  type Appended,
  type AppendOptions,
  type Deleted,
  type DeletedSession,
  type DeleteOptions,
  type ExpectedRevision,
  type ForkEvents,
  type GlobalEvent,
  type ReadRange,
  type SessionEntry,
  type Snapshot,
  parseSessionId,
  rejected,
} from "../../events/index.ts";
import { Appender, Committer } from "./write/index.ts";
import { assertOutside, backupStore, type Backup, type BackupOptions } from "./backup/index.ts";
import {
  listSessions,
  type ChainMark,
  type Database,
  closedError,
  deletedError,
  readOnlyError,
} from "./rows/index.ts";
import {
  Deletion,
  Erasure,
  type Eraser,
  Trimming,
  type TrimmedSession,
  type TrimOptions,
} from "./upkeep/index.ts";
import {
  Following,
  readGlobal,
  ScannedDatabase,
  assertPositions,
  Reading,
  SnapshotReader,
  snapshotRow,
} from "./read/index.ts";
import { Heads, IndexRows, Lineage, type LiveTail } from "./heads/index.ts";
import type { StoreLog } from "./store-log.ts";
import { resolve } from "node:path";

export interface LevelLogOptions {
  readonly dir?: string;
  /** Refuse every change. Default: false. */
  readonly readOnly?: boolean;
  readonly sync: boolean;
  readonly blobs: BlobStore;
  readonly end: ChainMark;
  readonly checked: ChainMark;
  /** Removes deleted rows from the files. Left out where rows in memory leave nothing behind. */
  readonly eraser?: Eraser;
  /** Throws when another process owns the store. Left out where that cannot happen. */
  readonly assertOwned?: () => void;
  /** Called once after the last write: records the end of the chain and closes the database. */
  readonly release: (committer: Committer) => Promise<void>;
}

export class LevelLog implements StoreLog {
  readonly dir: string | undefined;
  readonly readOnly: boolean;
  readonly blobs: BlobStore;
  readonly #database: ScannedDatabase;
  readonly #release: LevelLogOptions["release"];
  readonly #codec = createCodec();
  readonly #index = new IndexRows();
  readonly #heads: Heads;
  readonly #lineage: Lineage;
  readonly #committer: Committer;
  readonly #appender: Appender;
  readonly #erasure: Erasure;
  readonly #deletion: Deletion;
  readonly #trimming: Trimming;
  readonly #reading: Reading;
  readonly #following: Following;
  readonly #snapshots: SnapshotReader;
  /** Aborts when closing begins, before queued events are written. */
  readonly #ending = new AbortController();
  readonly #backups = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor(given: Database, options: LevelLogOptions) {
    const { dir, sync, blobs, end, checked, release, eraser } = options;
    const { assertOwned = () => {}, readOnly = false } = options;
    this.dir = dir;
    this.readOnly = readOnly;
    this.blobs = blobs;
    const database = new ScannedDatabase(given);
    this.#database = database;
    this.#release = release;
    const tails = new Map<string, LiveTail>();
    this.#heads = new Heads(database, tails, this.#index);
    this.#snapshots = new SnapshotReader(database);
    this.#lineage = new Lineage(database, this.#heads);
    const source = { database, codec: this.#codec, lineage: this.#lineage };
    this.#committer = new Committer(database, {
      sync,
      end,
      checked,
      index: this.#index,
      assertOwned,
      onWritten: () => this.#following.notify(),
      onFailed: () => this.#forget(),
    });
    this.#appender = new Appender({
      database,
      codec: this.#codec,
      heads: this.#heads,
      lineage: this.#lineage,
      committer: this.#committer,
    });
    this.#erasure = new Erasure({ database, committer: this.#committer, eraser });
    const parts = {
      source,
      heads: this.#heads,
      committer: this.#committer,
      appender: this.#appender,
      erasure: this.#erasure,
    };
    this.#deletion = new Deletion(parts);
    this.#trimming = new Trimming(parts);
    this.#reading = new Reading({
      source,
      heads: this.#heads,
      assertOpen: () => this.#assertOpen(),
    });
    this.#following = new Following({
      codec: this.#codec,
      heads: this.#heads,
      tails,
      read: (name, from, to) => this.#reading.span(name, from, to),
      readAll: (from, to) => readGlobal(database, this.#codec, from, to),
      written: () => this.#committer.written.position,
    });
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options?: AppendOptions,
  ): Promise<Appended> {
    try {
      this.#assertWritable();
      if (options !== undefined)
        check(appendSchema, options, "append", { name: "options", session });
      return this.#appender.append(session, expected, events, options);
    } catch (error) {
      return rejected(error);
    }
  }

  async appendParts(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options: AppendOptions = {},
  ): Promise<Appended> {
    this.#assertWritable();
    check(appendSchema, options, "appendParts", { name: "options", session });
    // A backup contains a whole session or nothing of it.
    const others = (): Promise<unknown> => Promise.allSettled(this.#backups);
    return await this.#appender.appendParts(session, parts, { ...options, others });
  }

  fork(session: string, events: ForkEvents): Promise<Appended> {
    try {
      this.#assertWritable();
      return this.#appender.fork(session, events);
    } catch (error) {
      return rejected(error);
    }
  }

  read(session: string, range: ReadRange = {}): AsyncGenerator<SessionEvent> {
    check(readSchema, range, "read", { name: "range", session });
    return this.#reading.read(session, range);
  }

  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    return await this.#reading.readAt(session, positions);
  }

  subscribe(
    session: string,
    options: { readonly from?: number; readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<SessionEvent> {
    this.#assertOpen();
    check(followSchema, options, "subscribe", { name: "options", session });
    const { from = 1, signal } = options;
    parseSessionId(session);
    assertPositions(session, [from]);
    return this.#following.session(session, Math.max(from, 1), signal);
  }

  async *readAll(options: { readonly from?: number } = {}): AsyncGenerator<GlobalEvent> {
    this.#assertOpen();
    check(readAllSchema, options, "readAll", { name: "options" });
    const { from = 1 } = options;
    yield* readGlobal(
      this.#database,
      this.#codec,
      Math.max(from, 1),
      this.#committer.written.position,
    );
  }

  subscribeAll(
    options: { readonly from?: number; readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<GlobalEvent> {
    this.#assertOpen();
    check(followSchema, options, "subscribeAll", { name: "options" });
    const { from = 1, signal } = options;
    assertPositions("all sessions", [from]);
    return this.#following.all(Math.max(from, 1), signal);
  }

  async revision(session: string): Promise<number> {
    this.#assertOpen();
    return (await this.#heads.load(session)).committed;
  }

  async *list(options: { readonly prefix?: string } = {}): AsyncGenerator<SessionEntry> {
    this.#assertOpen();
    check(listSchema, options, "list", { name: "options" });
    const { prefix = "" } = options;
    yield* listSessions(this.#database, prefix, this.#index.all);
  }

  async saveSnapshot(session: string, snapshot: Snapshot): Promise<void> {
    this.#assertWritable();
    const { key, row } = snapshotRow(parseSessionId(session), snapshot);
    let head = this.#heads.unlocked(session);
    for (; head === undefined; head = this.#heads.unlocked(session)) {
      await this.#heads.whenUnlocked(session);
      this.#assertOpen();
    }
    if (head.isDeleted) throw deletedError(session);
    await this.#committer.write((rows) => rows.put(key, row));
  }

  async loadSnapshot(session: string, projection: string): Promise<Snapshot | undefined> {
    this.#assertOpen();
    const { committed, link } = await this.#heads.load(session);
    for await (const { owner, to } of this.#lineage.of(session, link, committed)) {
      const snapshot = await this.#snapshots.read(owner, projection, to);
      if (snapshot !== undefined) return snapshot;
    }
    return undefined;
  }

  async delete(session: string, options: DeleteOptions = {}): Promise<Deleted> {
    this.#assertWritable();
    check(deleteSchema, options, "delete", { name: "options", session });
    return await this.#deletion.delete(session, options);
  }

  async *deleted(): AsyncGenerator<DeletedSession> {
    this.#assertOpen();
    yield* this.#deletion.deleted();
  }

  async backup(dir: string, options: BackupOptions = {}): Promise<Backup> {
    this.#assertOpen();
    check(name, dir, "backup", { name: "dir" });
    check(backupSchema, options, "backup", { name: "options" });
    const given = options.signal === undefined ? [] : [options.signal];
    const signal = AbortSignal.any([this.#ending.signal, ...given]);
    await this.#appender.staged();
    const made = this.#backup(resolve(dir), { ...options, signal });
    this.#backups.add(made);
    return await made.finally(() => this.#backups.delete(made));
  }

  async trim(session: string, options: TrimOptions): Promise<TrimmedSession> {
    this.#assertWritable();
    check(trimSchema, options, "trim", { name: "options", session });
    return await this.#trimming.trim(session, options);
  }

  async #backup(dir: string, options: BackupOptions): Promise<Backup> {
    if (this.dir !== undefined) assertOutside(this.dir, dir);
    using _ = this.blobs.hold();
    const { indexed } = this.#committer;
    return await backupStore(this.#database, this.blobs, dir, { ...options, indexed });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    this.#ending.abort(closedError());
    await Promise.allSettled(this.#backups);
    await this.#appender.settled();
    await this.#committer.idle();
    await this.#erasure.close();
    this.#following.end();
    await this.#release(this.#committer);
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw closedError();
  }

  #assertWritable(): void {
    this.#assertOpen();
    if (this.readOnly) throw readOnlyError(this.dir);
  }

  /** Drops what is only in memory: after a failed write only the store knows what was written. */
  #forget(): void {
    this.#heads.clear();
    this.#following.forget();
  }
}
