/** The engine on any abstract-level database: its parts, each made with the others that it uses. */

import { z } from "zod";
import {
  createCodec,
  oneProcess,
  type Appended,
  type AppendOptions,
  type BlobStore,
  type CursorStore,
  type Deleted,
  type DeletedSession,
  type DeleteOptions,
  type ExpectedRevision,
  type ForkEvents,
  type ForkPoint,
  type GlobalEvent,
  type NewEvent,
  type ReadRange,
  type SessionEntry,
  type SessionEvent,
  type Snapshot,
} from "../../events/index.ts";
import { plainEvents } from "../../shared/index.ts";
import { Following, type Engine, type SessionHead, type Snapshots } from "../engine/index.ts";
import { queuedEvents } from "../event-rows/index.ts";
import { closedError, deletedError } from "../log-rules/log-errors.ts";
import { Heads } from "./heads/heads.ts";
import { IndexRows } from "./heads/index-rows.ts";
import { Lineage } from "./heads/lineage.ts";
import { readGlobal } from "./read/global-reader.ts";
import { Reading } from "./read/reading.ts";
import { ScannedDatabase } from "./read/scans.ts";
import { SnapshotReader, snapshotRow } from "./read/snapshots.ts";
import { checkedRow, withChecksum, type ChainMark } from "./rows/commit-record.ts";
import { rowAt, type Database } from "./rows/database.ts";
import { commitDamage, readOnlyError } from "./rows/failures.ts";
import { cursorKey } from "./rows/keys.ts";
import { listSessions } from "./rows/session-rows.ts";
import { Deletion } from "./upkeep/deletion.ts";
import { Erasure, type Eraser } from "./upkeep/erasure.ts";
import { Appender } from "./write/appender.ts";
import { Committer } from "./write/committer.ts";

export interface LevelEngineOptions {
  readonly dir?: string;
  /** Refuse every change. Default: false. */
  readonly readOnly?: boolean;
  readonly blobs: BlobStore;
  readonly sync: boolean;
  readonly end: ChainMark;
  readonly checked: ChainMark;
  /** Removes deleted rows from the files. Left out where rows in memory leave nothing behind. */
  readonly eraser?: Eraser;
  /** Throws when another process owns the store, or its folder is gone. Left out where that cannot happen. */
  readonly assertOwned?: () => void;
  /** Called with the end of the log after each synced write, before its appends resolve. */
  readonly onSynced?: (position: number) => void;
  /** Called once after the last write: records the end of the chain and closes the database. */
  readonly release: (committer: Committer) => Promise<void>;
}

export class LevelEngine implements Engine {
  readonly [plainEvents] = true;
  readonly blobs: BlobStore;
  readonly cursors: CursorStore;
  readonly snapshots: Snapshots;
  readonly ownership = oneProcess;
  readonly refused: Engine["refused"];
  readonly followers: Following;
  readonly database: ScannedDatabase;
  readonly appender: Appender;
  readonly committer: Committer;
  readonly #codec = createCodec();
  readonly #index = new IndexRows();
  readonly #release: LevelEngineOptions["release"];
  readonly #heads: Heads;
  readonly #lineage: Lineage;
  readonly #reading: Reading;
  readonly #erasure: Erasure;
  readonly #deletion: Deletion;
  #isClosing = false;

  constructor(given: Database, options: LevelEngineOptions) {
    const { dir, readOnly = false, blobs, eraser, release } = options;
    const [codec, index] = [this.#codec, this.#index];
    const database = (this.database = new ScannedDatabase(given));
    this.#release = release;
    this.refused = readOnly ? () => readOnlyError(dir) : undefined;
    this.blobs = blobs;
    this.followers = new Following(this, {
      decode: (session, row) => queuedEvents(codec, session, row),
      attach: (session, tail) => heads.attach(session, tail),
    });
    const heads = (this.#heads = new Heads(database, this.followers.tails, index));
    const lineage = (this.#lineage = new Lineage(database, heads));
    const source = { database, codec, lineage };
    this.#reading = new Reading({ source, heads });
    const committer = (this.committer = new Committer(database, {
      ...options,
      assertOwned: options.assertOwned ?? (() => {}),
      index,
      onWritten: () => {
        this.followers.notify();
      },
      // After a failed write only the store knows what was written.
      onFailed: () => {
        heads.clear();
        this.followers.forget();
      },
    }));
    const appender = (this.appender = new Appender({ database, codec, heads, lineage, committer }));
    const erasure = (this.#erasure = new Erasure({ database, committer, eraser }));
    this.#deletion = new Deletion({ source, heads, committer, appender, erasure });
    this.snapshots = this.#storedSnapshots();
    this.cursors = levelCursors(database, committer);
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): Promise<Appended> {
    return this.appender.append(session, expected, events, options);
  }

  appendParts(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options: AppendOptions,
  ): Promise<Appended> {
    return this.appender.appendParts(session, parts, options);
  }

  fork(session: string, link: ForkPoint, events: ForkEvents): Promise<Appended> {
    return this.appender.fork(session, link, events);
  }

  delete(session: string, options: DeleteOptions): Promise<Deleted> {
    return this.#deletion.delete(session, options);
  }

  async head(session: string): Promise<SessionHead> {
    const { committed, isDeleted } = await this.#heads.load(session);
    return { revision: committed, isDeleted };
  }

  read(session: string, range: ReadRange): AsyncIterable<SessionEvent> {
    return this.#reading.read(session, range);
  }

  readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    return this.#reading.readAt(session, positions);
  }

  readAll(from: number, to: number): AsyncGenerator<GlobalEvent> {
    return readGlobal(this.database, this.#codec, from, to);
  }

  end(): number {
    return this.committer.written.position;
  }

  list(prefix: string): AsyncGenerator<SessionEntry> {
    return listSessions(this.database, prefix, this.#index.all);
  }

  deleted(): AsyncGenerator<DeletedSession> {
    return this.#deletion.deleted();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.appender.settled();
    await this.committer.idle();
    await this.#erasure.close();
    await this.followers.end();
    await this.#release(this.committer);
  }

  #storedSnapshots(): Snapshots {
    const reader = new SnapshotReader(this.database);
    let saving: Promise<unknown> = Promise.resolve();
    const saveOfAll = async (snapshot: Snapshot): Promise<void> => {
      const stored = await reader.read("", snapshot.projection);
      if (stored !== undefined && stored.position > snapshot.position) return;
      const { key, row } = snapshotRow("", snapshot);
      await this.committer.write((rows) => rows.put(key, row));
    };
    return {
      save: async (session, snapshot) => {
        if (session === "") {
          // One after another: each looks at what the one before has written.
          const saved = saving.then(() => saveOfAll(snapshot));
          saving = saved.catch(() => {});
          return await saved;
        }
        const { key, row } = snapshotRow(session, snapshot);
        let head = this.#heads.unlocked(session);
        for (; head === undefined; head = this.#heads.unlocked(session)) {
          await this.#heads.whenUnlocked(session);
          if (this.#isClosing) throw closedError();
        }
        if (head.isDeleted) throw deletedError(session);
        await this.committer.write((rows) => rows.put(key, row));
      },
      load: async (session, projection) => {
        if (session === "") return await reader.read("", projection);
        const { committed, link } = await this.#heads.load(session);
        for await (const { owner, to } of this.#lineage.of(session, link, committed)) {
          const snapshot = await reader.read(owner, projection, to);
          if (snapshot !== undefined) return snapshot;
        }
        return undefined;
      },
      loadMany: async (sessions, projection): Promise<readonly (Snapshot | undefined)[]> =>
        await Promise.all(sessions.map((session) => reader.read(session, projection))),
    };
  }
}

/** After a repair 0: the consumer begins again. */
const cursorSchema = z.int().nonnegative();

/** The stored positions of consumers, each in a row of its own. Not a cache: a damaged one is an error. */
function levelCursors(database: Database, committer: Committer): CursorStore {
  return {
    async load(name) {
      const key = cursorKey(name);
      const row = await rowAt(database, key);
      if (row === undefined) return undefined;
      const position = checkedRow(key, row, cursorSchema);
      if (position !== undefined) return position;
      throw commitDamage(0, `the stored position of the consumer ${name} is altered`);
    },

    async save(name, position) {
      const key = cursorKey(name);
      await committer.write((rows) => rows.put(key, withChecksum(key, position)));
    },
  };
}
