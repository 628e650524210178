/** The log on PostgreSQL: validates calls and passes them to appender, readers and upkeep. */

import {
  type Appended,
  type AppendOptions,
  createCodec,
  type Deleted,
  type DeletedSession,
  type DeleteOptions,
  type EventLog,
  type ExpectedRevision,
  type ForkEvents,
  type GlobalEvent,
  type NewEvent,
  parseSessionId,
  type ReadRange,
  rejected,
  type SessionEntry,
  type SessionEvent,
  type Snapshot,
} from "../../events/index.ts";
import { check } from "../../validation/index.ts";
import type { LiveTail } from "../following/index.ts";
import {
  appendSchema,
  assertPositions,
  closedError,
  deletedError,
  deleteSchema,
  followSchema,
  listSchema,
  readAllSchema,
  readSchema,
} from "../log-rules/index.ts";
import { databaseFailure, type SqlPool } from "./database/index.ts";
import { Heads } from "./heads/index.ts";
import { Following, horizon, readGlobal, Reading } from "./read/index.ts";
import {
  deletedSessions,
  deleteSession,
  listSessions,
  loadSnapshot,
  saveSnapshot,
} from "./upkeep/index.ts";
import { Appender, appendStaged, Committer, fork } from "./write/index.ts";

export interface PostgresLogParts {
  readonly pool: SqlPool;
  /** The quoted name of the schema with the tables. */
  readonly schema: string;
  readonly pollingMs: number;
}

export class PostgresLog implements EventLog {
  readonly #pool: SqlPool;
  readonly #schema: string;
  readonly #codec = createCodec();
  readonly #heads: Heads;
  readonly #committer: Committer;
  readonly #appender: Appender;
  readonly #reading: Reading;
  readonly #following: Following;
  readonly #working = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;

  constructor({ pool, schema, pollingMs }: PostgresLogParts) {
    this.#pool = pool;
    this.#schema = schema;
    const tails = new Map<string, LiveTail>();
    const heads = new Heads(pool, schema, tails);
    this.#heads = heads;
    this.#committer = new Committer({
      pool,
      schema,
      onRefused: (head, appends) => {
        heads.reload(head);
        this.#appender.again(head, appends);
      },
      onWritten: () => {
        this.#following.notify();
      },
      onFailed: (head) => {
        heads.reload(head);
      },
    });
    const source = { sql: pool, schema, codec: this.#codec };
    this.#appender = new Appender({ ...source, heads, committer: this.#committer });
    this.#reading = new Reading({ source, heads });
    this.#following = new Following({
      ...source,
      heads,
      tails,
      reading: this.#reading,
      intervalMs: pollingMs,
    });
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
    this.#assertOpen();
    check(appendSchema, options, "appendParts", { name: "options", session });
    const head = this.#heads.of(session);
    const staging = {
      sql: this.#pool,
      schema: this.#schema,
      codec: this.#codec,
      heads: this.#heads,
    };
    return await this.#work(
      this.#appender.inLine<Appended>(head, async () => {
        await this.#committer.idle();
        const appended = await this.#try(`Importing session ${session}`, () =>
          appendStaged(staging, session, parts, options),
        );
        this.#heads.reload(head);
        await head.loaded;
        this.#following.notify();
        return { appended };
      }),
    );
  }

  fork(session: string, events: ForkEvents): Promise<Appended> {
    try {
      this.#assertOpen();
      return this.#work(
        fork(
          {
            pool: this.#pool,
            schema: this.#schema,
            codec: this.#codec,
            heads: this.#heads,
            appender: this.#appender,
            committer: this.#committer,
          },
          session,
          events,
        ),
      );
    } catch (error) {
      return rejected(error);
    }
  }

  async *read(session: string, range: ReadRange = {}): AsyncGenerator<SessionEvent> {
    check(readSchema, range, "read", { name: "range", session });
    this.#assertOpen();
    yield* this.#reading.read(parseSessionId(session), range);
  }

  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    this.#assertOpen();
    return await this.#reading.readAt(parseSessionId(session), positions);
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
    const source = { sql: this.#pool, schema: this.#schema, codec: this.#codec };
    const to = await horizon(this.#pool, this.#schema);
    yield* readGlobal(source, Math.max(options.from ?? 1, 1), to);
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
    return (await this.#heads.stored(parseSessionId(session))).revision;
  }

  async *list(options: { readonly prefix?: string } = {}): AsyncGenerator<SessionEntry> {
    this.#assertOpen();
    check(listSchema, options, "list", { name: "options" });
    yield* listSessions(this.#pool, this.#schema, options.prefix ?? "");
  }

  async saveSnapshot(session: string, snapshot: Snapshot): Promise<void> {
    this.#assertOpen();
    const stored = await this.#heads.stored(parseSessionId(session));
    await this.#try(`Saving a snapshot of ${session}`, () =>
      saveSnapshot(this.#pool, this.#schema, session, stored, snapshot),
    );
  }

  async loadSnapshot(session: string, projection: string): Promise<Snapshot | undefined> {
    this.#assertOpen();
    const stored = await this.#heads.stored(parseSessionId(session));
    if (stored.revision === 0) return undefined;
    return await this.#try(`Reading a snapshot of ${session}`, () =>
      loadSnapshot(this.#pool, this.#schema, session, stored, projection),
    );
  }

  async delete(session: string, options: DeleteOptions = {}): Promise<Deleted> {
    this.#assertOpen();
    check(deleteSchema, options, "delete", { name: "options", session });
    const head = this.#heads.of(session);
    return await this.#work(
      this.#appender.inLine<Deleted>(head, async () => {
        // Earlier appends to this session are deleted with it.
        await this.#committer.idle();
        const deleted = await this.#try(`Deleting session ${session}`, () =>
          this.#pool.transaction((sql) =>
            deleteSession(sql, this.#schema, this.#codec, session, options.forks ?? "refuse"),
          ),
        );
        head.tail?.fail(deletedError(session));
        this.#heads.reload(head);
        for (const copied of deleted.forks) this.#heads.reload(this.#heads.of(copied));
        await head.loaded;
        return { appended: deleted };
      }),
    );
  }

  async *deleted(): AsyncGenerator<DeletedSession> {
    this.#assertOpen();
    yield* deletedSessions(this.#pool, this.#schema);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    await this.#appender.settled();
    await this.#committer.idle();
    await Promise.allSettled(this.#working);
    await this.#following.end();
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
