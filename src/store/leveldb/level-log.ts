/** The log on any abstract-level database: validates calls and passes them to appender, readers and upkeep. */

import { plainEvents, firstAbort } from "../../shared/index.ts";
import {
  appendSchema,
  deleteSchema,
  followed,
  listSchema,
  readAllSchema,
  readSchema,
  cursorPositionSchema,
} from "../log-rules/call-schemas.ts";
import { closedError, deletedError } from "../log-rules/log-errors.ts";
import {
  check,
  code,
  implementation,
  name,
  optionsOf,
  name as nameSchema,
} from "../../validation/index.ts";
import {
  type NewEvent,
  type SessionEvent,
  type BlobStore,
  type Appended,
  type AppendOptions,
  type CursorStore,
  type Deleted,
  type DeletedSession,
  type DeleteOptions,
  type ExpectedRevision,
  type FollowOptions,
  type ForkEvents,
  type GlobalEvent,
  type ReadRange,
  type SessionEntry,
  type Snapshot,
  oneProcess,
  type Ownership,
  parseSessionId,
  rejected,
} from "../../events/index.ts";
import type { Committer } from "./write/committer.ts";
import { type Backup, type BackupOptions, backupStore } from "./backup/backup-store.ts";
import { listSessions } from "./rows/session-rows.ts";
import { type Database, rowAt } from "./rows/database.ts";
import { readOnlyError, commitDamage } from "./rows/failures.ts";
import { readGlobal } from "./read/global-reader.ts";
import { snapshotRow } from "./read/snapshots.ts";
import { logParts, type LogParts, type LogPartsOptions } from "./log-parts.ts";
import type { StoreLog } from "./store-log.ts";
import { resolve } from "node:path";
import { assertOutside } from "./backup/backup-folder.ts";
import { z } from "zod";
import { checkedRow, withChecksum } from "./rows/commit-record.ts";
import { cursorKey } from "./rows/keys.ts";

const signal = implementation({ addEventListener: code });
const backupSchema = optionsOf<BackupOptions>({ onProgress: code, signal }, {});

export interface LevelLogOptions extends LogPartsOptions {
  readonly dir?: string;
  /** Refuse every change. Default: false. */
  readonly readOnly?: boolean;
  readonly blobs: BlobStore;
  /** Called once after the last write: records the end of the chain and closes the database. */
  readonly release: (committer: Committer) => Promise<void>;
}

export class LevelLog implements StoreLog {
  readonly [plainEvents] = true;
  readonly dir: string | undefined;
  readonly readOnly: boolean;
  readonly blobs: BlobStore;
  readonly cursors: CursorStore;
  readonly ownership: Ownership = oneProcess;
  readonly #release: LevelLogOptions["release"];
  readonly #parts: LogParts;
  readonly #backups: RunningBackups;
  readonly #listeners = new Set<(session: string) => void>();
  #closed: Promise<void> | undefined;

  constructor(database: Database, options: LevelLogOptions) {
    const { dir, blobs, release, readOnly = false } = options;
    this.dir = dir;
    this.readOnly = readOnly;
    this.blobs = blobs;
    this.#release = release;
    this.#parts = logParts(database, options, () => this.#assertOpen());
    this.cursors = levelCursors({
      ...this.#parts,
      assertOpen: () => this.#assertOpen(),
      assertWritable: () => this.#assertWritable(),
    });
    this.#backups = new RunningBackups(this.#parts.database, blobs, dir);
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
      return this.#told(session, this.#parts.appender.append(session, expected, events, options));
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
    const others = (): Promise<unknown> => this.#backups.settled();
    const appended = this.#parts.appender.appendParts(session, parts, { ...options, others });
    return await this.#told(session, appended);
  }

  fork(session: string, events: ForkEvents): Promise<Appended> {
    try {
      this.#assertWritable();
      return this.#told(session, this.#parts.appender.fork(session, events));
    } catch (error) {
      return rejected(error);
    }
  }

  read(session: string, range: ReadRange = {}): AsyncGenerator<SessionEvent> {
    check(readSchema, range, "read", { name: "range", session });
    return this.#parts.reading.read(session, range);
  }

  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    return await this.#parts.reading.readAt(session, positions);
  }

  subscribe(session: string, options: FollowOptions = {}): AsyncIterableIterator<SessionEvent> {
    this.#assertOpen();
    return this.#parts.following.session(session, ...followed(options, session));
  }

  async *readAll(options: { readonly from?: number } = {}): AsyncGenerator<GlobalEvent> {
    this.#assertOpen();
    check(readAllSchema, options, "readAll", { name: "options" });
    const { from = 1 } = options;
    yield* readGlobal(
      this.#parts.database,
      this.#parts.codec,
      Math.max(from, 1),
      this.#parts.committer.written.position,
    );
  }

  subscribeAll(options: FollowOptions = {}): AsyncIterableIterator<GlobalEvent> {
    this.#assertOpen();
    return this.#parts.following.all(...followed(options));
  }

  async revision(session: string): Promise<number> {
    this.#assertOpen();
    return (await this.#parts.heads.load(session)).committed;
  }

  async *list(options: { readonly prefix?: string } = {}): AsyncGenerator<SessionEntry> {
    this.#assertOpen();
    check(listSchema, options, "list", { name: "options" });
    const { prefix = "" } = options;
    yield* listSessions(this.#parts.database, prefix, this.#parts.index.all);
  }

  onChange(listener: (session: string) => void): Disposable {
    this.#assertOpen();
    // A function of its own for each call, so that one listener may be given twice.
    const called = (session: string): void => {
      listener(session);
    };
    this.#listeners.add(called);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(called);
      },
    };
  }

  async saveSnapshot(session: string, snapshot: Snapshot): Promise<void> {
    this.#assertWritable();
    const { key, row } = snapshotRow(parseSessionId(session), snapshot);
    let head = this.#parts.heads.unlocked(session);
    for (; head === undefined; head = this.#parts.heads.unlocked(session)) {
      await this.#parts.heads.whenUnlocked(session);
      this.#assertOpen();
    }
    if (head.isDeleted) throw deletedError(session);
    await this.#parts.committer.write((rows) => rows.put(key, row));
  }

  async loadSnapshot(session: string, projection: string): Promise<Snapshot | undefined> {
    this.#assertOpen();
    const { committed, link } = await this.#parts.heads.load(session);
    for await (const { owner, to } of this.#parts.lineage.of(session, link, committed)) {
      const snapshot = await this.#parts.snapshots.read(owner, projection, to);
      if (snapshot !== undefined) return snapshot;
    }
    return undefined;
  }

  async loadSnapshots(
    sessions: readonly string[],
    projection: string,
  ): Promise<readonly (Snapshot | undefined)[]> {
    this.#assertOpen();
    const read = (session: string): Promise<Snapshot | undefined> =>
      this.#parts.snapshots.read(parseSessionId(session), projection);
    return await Promise.all(sessions.map(read));
  }

  async delete(session: string, options: DeleteOptions = {}): Promise<Deleted> {
    this.#assertWritable();
    check(deleteSchema, options, "delete", { name: "options", session });
    return await this.#told(session, this.#parts.deletion.delete(session, options));
  }

  async *deleted(): AsyncGenerator<DeletedSession> {
    this.#assertOpen();
    yield* this.#parts.deletion.deleted();
  }

  async backup(dir: string, options: BackupOptions = {}): Promise<Backup> {
    this.#assertOpen();
    check(name, dir, "backup", { name: "dir" });
    check(backupSchema, options, "backup", { name: "options" });
    await this.#parts.appender.staged();
    return await this.#backups.make(dir, options, this.#parts.committer.indexed);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    await this.#backups.abort(closedError());
    await this.#parts.appender.settled();
    await this.#parts.committer.idle();
    await this.#parts.erasure.close();
    this.#parts.following.end();
    await this.#release(this.#parts.committer);
  }

  /** Without listeners, the same promise: an append waits for nothing else. */
  #told<Done>(session: string, change: Promise<Done>): Promise<Done> {
    if (this.#listeners.size === 0) return change;
    return change.then((done) => {
      for (const listener of this.#listeners) listener(session);
      return done;
    });
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw closedError();
  }

  #assertWritable(): void {
    this.#assertOpen();
    if (this.readOnly) throw readOnlyError(this.dir);
  }
}

// The backups of one open store: they end before it closes, and no session is written in parts while one runs.

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

  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Aborts them all. Resolves when none runs. */
  async abort(why: Error): Promise<void> {
    this.#ending.abort(why);
    await this.settled();
  }
}

// The stored positions of consumers, each in a row of its own. Not a cache: a damaged one is an error.

interface CursorOptions {
  readonly database: Database;
  readonly committer: Committer;
  readonly assertOpen: () => void;
  readonly assertWritable: () => void;
}

function levelCursors(options: CursorOptions): CursorStore {
  const { database, committer, assertOpen, assertWritable } = options;
  return {
    async load(name) {
      assertOpen();
      check(nameSchema, name, "cursors.load", { name: "name" });
      const key = cursorKey(name);
      const row = await rowAt(database, key);
      if (row === undefined) return undefined;
      const position = checkedRow(key, row, cursorSchema);
      if (position !== undefined) return position;
      throw commitDamage(0, `the stored position of the consumer ${name} is altered`);
    },

    async save(name, position) {
      assertWritable();
      check(nameSchema, name, "cursors.save", { name: "name" });
      check(cursorPositionSchema, position, "cursors.save", { name: "position" });
      const key = cursorKey(name);
      await committer.write((rows) => rows.put(key, withChecksum(key, position)));
    },
  };
}

/** After a repair 0: the consumer begins again. */
const cursorSchema = z.int().nonnegative();
