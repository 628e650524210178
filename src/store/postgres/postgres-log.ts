/** The log on PostgreSQL: validates calls and passes them to appender, readers and upkeep. */

import { plainEvents } from "../../shared/index.ts";
import {
  type Appended,
  type AppendOptions,
  type BlobStore,
  type CursorStore,
  type Deleted,
  type DeletedSession,
  type DeleteOptions,
  type EventLog,
  type ExpectedRevision,
  type FollowOptions,
  type ForkEvents,
  type GlobalEvent,
  type Inbox,
  type NewEvent,
  type Ownership,
  parseSessionId,
  type ReadRange,
  rejected,
  type SessionEntry,
  type SessionEvent,
  type Snapshot,
} from "../../events/index.ts";
import { check, name } from "../../validation/index.ts";
import {
  appendSchema,
  deleteSchema,
  followed,
  listSchema,
  ownedAppendSchema,
  readAllSchema,
  readSchema,
  cursorPositionSchema,
} from "../log-rules/call-schemas.ts";
import { closedError, deletedError } from "../log-rules/log-errors.ts";
import { databaseFailure } from "./database/failures.ts";
import { type SqlPool, type Sql, parseRows, position } from "./database/rows.ts";
import type { LogParts } from "./log-parts.ts";
import { horizon, readGlobal } from "./read/global-order.ts";
import { deletedSessions, listSessions } from "./upkeep/session-list.ts";
import { deleteSession } from "./upkeep/deletion.ts";
import { loadSnapshot, loadSnapshots, saveSnapshot } from "./upkeep/snapshots.ts";
import { appendStaged } from "./write/staging.ts";
import { fork } from "./write/forking.ts";
import { z } from "zod";

export interface PostgresLogOptions {
  readonly pool: SqlPool;
  /** The quoted name of the schema with the tables. */
  readonly schema: string;
  readonly parts: LogParts;
}

export class PostgresLog implements EventLog {
  readonly [plainEvents] = true;
  readonly #pool: SqlPool;
  readonly #schema: string;
  readonly #parts: LogParts;
  readonly ownership: Ownership;
  readonly inbox: Inbox;
  readonly cursors: CursorStore;
  readonly blobs: BlobStore;
  readonly #working = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor({ pool, schema, parts }: PostgresLogOptions) {
    this.#pool = pool;
    this.#schema = schema;
    this.#parts = parts;
    this.ownership = parts.claims;
    this.inbox = parts.commands;
    this.blobs = parts.blobs;
    this.cursors = postgresCursors(parts.sql, schema, () => this.#assertOpen());
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options?: AppendOptions,
  ): Promise<Appended> {
    try {
      this.#assertOpen();
      if (options !== undefined)
        check(ownedAppendSchema, options, "append", { name: "options", session });
      return this.#parts.appender.append(session, expected, events, options);
    } catch (error) {
      return rejected(error);
    }
  }

  async appendParts(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options: AppendOptions = {},
  ): Promise<Appended> {
    this.#assertOpen();
    check(appendSchema, options, "appendParts", { name: "options", session });
    const head = this.#parts.heads.of(session);
    const staging = { ...this.#parts, sql: this.#pool };
    return await this.#work(
      this.#parts.appender.line.run<Appended>(head, async () => {
        await this.#parts.committer.idle();
        const appended = await this.#try(`Importing session ${session}`, () =>
          appendStaged(staging, session, parts, options),
        );
        this.#parts.heads.reload(head);
        await head.loaded;
        this.#parts.following.notify();
        this.#parts.hints.events([session]);
        return { appended };
      }),
    );
  }

  fork(session: string, events: ForkEvents): Promise<Appended> {
    try {
      this.#assertOpen();
      return this.#work(
        fork(this.#parts, session, events).finally(() => this.#parts.hints.events([session])),
      );
    } catch (error) {
      return rejected(error);
    }
  }

  async *read(session: string, range: ReadRange = {}): AsyncGenerator<SessionEvent> {
    check(readSchema, range, "read", { name: "range", session });
    this.#assertOpen();
    yield* this.#parts.reading.read(parseSessionId(session), range);
  }

  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    this.#assertOpen();
    return await this.#parts.reading.readAt(parseSessionId(session), positions);
  }

  subscribe(session: string, options: FollowOptions = {}): AsyncIterableIterator<SessionEvent> {
    this.#assertOpen();
    return this.#parts.following.session(session, ...followed(options, session));
  }

  async *readAll(options: { readonly from?: number } = {}): AsyncGenerator<GlobalEvent> {
    this.#assertOpen();
    check(readAllSchema, options, "readAll", { name: "options" });
    const source = { sql: this.#parts.sql, schema: this.#schema, codec: this.#parts.codec };
    const to = await horizon(this.#parts.sql, this.#schema);
    yield* readGlobal(source, Math.max(options.from ?? 1, 1), to);
  }

  subscribeAll(options: FollowOptions = {}): AsyncIterableIterator<GlobalEvent> {
    this.#assertOpen();
    return this.#parts.following.all(...followed(options));
  }

  async revision(session: string): Promise<number> {
    this.#assertOpen();
    return (await this.#parts.heads.stored(parseSessionId(session))).revision;
  }

  async *list(options: { readonly prefix?: string } = {}): AsyncGenerator<SessionEntry> {
    this.#assertOpen();
    check(listSchema, options, "list", { name: "options" });
    yield* listSessions(this.#parts.sql, this.#schema, options.prefix ?? "");
  }

  async saveSnapshot(session: string, snapshot: Snapshot): Promise<void> {
    this.#assertOpen();
    const stored = await this.#parts.heads.stored(parseSessionId(session));
    await this.#try(`Saving a snapshot of ${session}`, () =>
      saveSnapshot(this.#parts.sql, this.#schema, session, stored, snapshot),
    );
  }

  async loadSnapshot(session: string, projection: string): Promise<Snapshot | undefined> {
    this.#assertOpen();
    const stored = await this.#parts.heads.stored(parseSessionId(session));
    if (stored.revision === 0) return undefined;
    return await this.#try(`Reading a snapshot of ${session}`, () =>
      loadSnapshot(this.#parts.sql, this.#schema, session, stored, projection),
    );
  }

  async loadSnapshots(
    sessions: readonly string[],
    projection: string,
  ): Promise<readonly (Snapshot | undefined)[]> {
    this.#assertOpen();
    return await this.#try("Reading snapshots", () =>
      loadSnapshots(this.#parts.sql, this.#schema, sessions, projection),
    );
  }

  async delete(session: string, options: DeleteOptions = {}): Promise<Deleted> {
    this.#assertOpen();
    check(deleteSchema, options, "delete", { name: "options", session });
    const head = this.#parts.heads.of(session);
    return await this.#work(
      this.#parts.appender.line.run<Deleted>(head, async () => {
        // Earlier appends to this session are deleted with it.
        await this.#parts.committer.idle();
        const deleted = await this.#try(`Deleting session ${session}`, () =>
          this.#pool.transaction((sql) =>
            deleteSession(sql, this.#schema, this.#parts.codec, session, options),
          ),
        );
        head.tail?.fail(deletedError(session));
        this.#parts.heads.reload(head);
        for (const copied of deleted.forks) this.#parts.heads.reload(this.#parts.heads.of(copied));
        await head.loaded;
        this.#parts.hints.events([session]);
        return { appended: deleted };
      }),
    );
  }

  async *deleted(): AsyncGenerator<DeletedSession> {
    this.#assertOpen();
    yield* deletedSessions(this.#parts.sql, this.#schema);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    await this.#parts.appender.line.settled();
    while (this.#parts.committer.isBusy) await this.#parts.committer.idle();
    await Promise.allSettled(this.#working);
    await this.#parts.blobs.end();
    await this.#parts.commands.end(closedError());
    await this.#parts.claims.end();
    this.#parts.hints.end();
    await this.#parts.following.end();
    await this.#pool.end();
  }

  async #work<Result>(work: Promise<Result>): Promise<Result> {
    this.#working.add(work);
    return await work.finally(() => this.#working.delete(work));
  }

  async #try<Result>(doing: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw databaseFailure(error, doing);
    }
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw closedError();
  }
}

// The positions that consumers have reached, one row for each name.

const cursorSchema = z.object({ position });

function postgresCursors(sql: Sql, schema: string, assertOpen: () => void): CursorStore {
  const failed = (error: unknown): never => {
    throw databaseFailure(error, "The position of a consumer");
  };
  // Connections do not keep the order of calls.
  let saving: Promise<unknown> = Promise.resolve();
  return {
    async load(consumer) {
      assertOpen();
      const rows = await sql
        .query(`SELECT position FROM ${schema}.cursors WHERE name = $1`, [Buffer.from(consumer)])
        .catch(failed);
      return parseRows(cursorSchema, rows)[0]?.position;
    },
    async save(consumer, reached) {
      assertOpen();
      check(name, consumer, "cursors.save", { name: "name" });
      check(cursorPositionSchema, reached, "cursors.save", { name: "position" });
      const saved = saving.then(() =>
        sql.query(
          `INSERT INTO ${schema}.cursors (name, position) VALUES ($1, $2)
           ON CONFLICT (name) DO UPDATE SET position = $2`,
          [Buffer.from(consumer), reached],
        ),
      );
      saving = saved.catch(() => {});
      await saved.catch(failed);
    },
  };
}
