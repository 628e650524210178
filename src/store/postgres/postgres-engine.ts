/** The engine on PostgreSQL: its parts, and how they call each other. */

import { z } from "zod";
import {
  createCodec,
  type Appended,
  type AppendOptions,
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
} from "../../events/index.ts";
import { defer, plainEvents } from "../../shared/index.ts";
import {
  Following,
  type Engine,
  type Others,
  type SessionHead,
  type Snapshots,
} from "../engine/index.ts";
import { queuedEvents } from "../event-rows/index.ts";
import { closedError, deletedError } from "../log-rules/log-errors.ts";
import { PostgresBlobs } from "./blobs/postgres-blobs.ts";
import { databaseFailure, retrying } from "./database/failures.ts";
import { parseRows, position, type Sql, type SqlPool } from "./database/rows.ts";
import { Heads } from "./heads/heads.ts";
import { unknownSession, type Head } from "./heads/stored-sessions.ts";
import { Claims } from "./nodes/claims.ts";
import { Hints } from "./nodes/hints.ts";
import { Commands } from "./nodes/inbox.ts";
import { horizon, readGlobal } from "./read/global-order.ts";
import { Reading } from "./read/reading.ts";
import { deleteSession } from "./upkeep/deletion.ts";
import { deletedSessions, listSessions } from "./upkeep/session-list.ts";
import { loadSnapshot, loadSnapshots, saveSnapshot } from "./upkeep/snapshots.ts";
import { Appender } from "./write/appender.ts";
import { Committer } from "./write/committer.ts";
import { fork } from "./write/forking.ts";
import { appendStaged } from "./write/staging.ts";

export interface PostgresEngineOptions {
  readonly pool: SqlPool;
  /** The quoted name of the schema with the tables. */
  readonly schema: string;
  readonly listen: boolean;
  readonly pollingMs: number;
  readonly leaseMs: number;
}

export class PostgresEngine implements Engine {
  readonly [plainEvents] = true;
  readonly followers: Following;
  readonly others: Others;
  readonly snapshots: Snapshots;
  readonly cursors: CursorStore;
  readonly ownership: Claims;
  readonly inbox: Commands;
  readonly blobs: PostgresBlobs;
  readonly #pool: SqlPool;
  readonly #schema: string;
  /** The pool, for statements that may run twice. */
  readonly #sql: SqlPool;
  readonly #codec = createCodec();
  readonly #heads: Heads;
  readonly #committer: Committer;
  readonly #appender: Appender;
  readonly #reading: Reading;
  readonly #hints: Hints;
  /** Looks for what other processes wrote, while somebody follows. */
  #look: ((sessions?: readonly string[]) => Promise<void>) | undefined;

  constructor({ pool, schema, listen, pollingMs, leaseMs }: PostgresEngineOptions) {
    this.#pool = pool;
    this.#schema = schema;
    const [sql, codec] = [(this.#sql = retrying(pool)), this.#codec];
    const source = { sql, schema, codec };
    this.others = { watch: (changed) => this.#watch(changed, pollingMs) };
    this.followers = new Following(this, {
      decode: (session, row) => queuedEvents(codec, session, row),
      attach: (session, tail) => heads.attach(session, tail),
    });
    const heads = (this.#heads = new Heads(sql, schema, this.followers.tails));
    this.#reading = new Reading({ source, heads });
    const hints = (this.#hints = new Hints({
      pool,
      schema,
      isOn: listen,
      onEvents: (sessions) => void this.#look?.(sessions),
      onCommands: () => {
        this.inbox.hint();
      },
    }));
    const committer = (this.#committer = new Committer({
      pool,
      schema,
      onRefused: (head, appends) => {
        heads.reload(head);
        appender.again(appends);
      },
      onWritten: (sessions) => {
        this.followers.notify();
        hints.events(sessions);
      },
      onFailed: (head) => {
        heads.reload(head);
      },
    }));
    const appender = (this.#appender = new Appender({ ...source, committer }));
    const tell = (): void => {
      hints.commands();
    };
    this.ownership = new Claims({
      ...source,
      leaseMs,
      tell,
      between: (session, take) => this.#alone(heads.of(session), take),
    });
    this.inbox = new Commands({
      ...source,
      intervalMs: pollingMs,
      listen: () => {
        hints.listen();
      },
      tell,
      node: () => this.ownership.node,
    });
    this.blobs = new PostgresBlobs(source);
    this.snapshots = this.#storedSnapshots();
    this.cursors = postgresCursors(sql, schema);
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): Promise<Appended> {
    return this.#appender.append(this.#heads.of(session), expected, events, options);
  }

  async appendParts(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options: AppendOptions,
  ): Promise<Appended> {
    const [schema, codec, heads] = [this.#schema, this.#codec, this.#heads];
    return await this.#alone(heads.of(session), async () => {
      const staging = { sql: this.#pool, schema, codec, heads };
      return await this.#try(`Importing session ${session}`, () =>
        appendStaged(staging, session, parts, options),
      );
    }).finally(() => this.#wrote(session));
  }

  async fork(session: string, link: ForkPoint, events: ForkEvents): Promise<Appended> {
    const [pool, schema, codec] = [this.#pool, this.#schema, this.#codec];
    const [heads, appender, committer] = [this.#heads, this.#appender, this.#committer];
    const options = { pool, schema, codec, heads, appender, committer };
    return await fork(options, session, link, events).finally(() => this.#wrote(session));
  }

  async delete(session: string, options: DeleteOptions): Promise<Deleted> {
    const head = this.#heads.of(session);
    // Earlier appends to this session are deleted with it.
    return await this.#alone(head, async () => {
      const deleted = await this.#try(`Deleting session ${session}`, () =>
        this.#pool.transaction((sql) =>
          deleteSession(sql, this.#schema, this.#codec, session, options),
        ),
      );
      head.tail?.fail(deletedError(session));
      for (const copied of deleted.forks) this.#heads.reload(this.#heads.of(copied));
      return deleted;
    }).finally(() => this.#wrote(session));
  }

  /** The database shows an event before its answer arrives here: no follower sees it earlier than the caller. */
  async head(session: string): Promise<SessionHead> {
    const stored = await this.#heads.stored(session);
    await this.#committer.answered();
    return stored;
  }

  read(session: string, range: ReadRange): AsyncGenerator<SessionEvent> {
    return this.#reading.read(session, range);
  }

  readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    return this.#reading.readAt(session, positions);
  }

  readAll(from: number, to: number): AsyncGenerator<GlobalEvent> {
    return readGlobal({ sql: this.#sql, schema: this.#schema, codec: this.#codec }, from, to);
  }

  async end(): Promise<number> {
    const last = await horizon(this.#sql, this.#schema);
    await this.#committer.answered();
    return last;
  }

  list(prefix: string): AsyncGenerator<SessionEntry> {
    return listSessions(this.#sql, this.#schema, prefix);
  }

  deleted(): AsyncGenerator<DeletedSession> {
    return deletedSessions(this.#sql, this.#schema);
  }

  async close(): Promise<void> {
    await this.#appender.settled();
    while (this.#committer.isBusy) await this.#committer.idle();
    await this.blobs.end();
    await this.inbox.end(closedError());
    await this.ownership.end();
    this.#hints.end();
    await this.followers.end();
    await this.#pool.end();
  }

  /** Runs `act` between the earlier appends to the session and the later ones, which read its entry again. */
  #alone<Result>(head: Head, act: () => Promise<Result>): Promise<Result> {
    return this.#appender.run(head, async () => {
      await this.#committer.idle();
      const appended = await act();
      // Another process may have written since this one had the session.
      this.#heads.reload(head);
      await head.loaded;
      return { appended };
    });
  }

  #wrote(session: string): void {
    this.followers.notify();
    this.#hints.events([session]);
  }

  /** A hint may be lost; the interval is the truth. */
  #watch(changed: (sessions?: readonly string[]) => Promise<void>, pollingMs: number): Disposable {
    this.#look = changed;
    this.#hints.listen();
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      timer = setTimeout(
        () => void changed().then(() => this.#look === changed && wait()),
        pollingMs,
      );
    };
    wait();
    return defer(() => {
      clearTimeout(timer);
      this.#look = undefined;
    });
  }

  #storedSnapshots(): Snapshots {
    const [sql, schema] = [this.#sql, this.#schema];
    return {
      save: async (session, snapshot) => {
        const stored = session === "" ? unknownSession : await this.#heads.stored(session);
        await this.#try(`Saving a snapshot of ${session}`, () =>
          saveSnapshot(sql, schema, session, stored, snapshot),
        );
      },
      load: async (session, projection) => {
        const stored = session === "" ? unknownSession : await this.#heads.stored(session);
        if (stored.revision === 0 && session !== "") return undefined;
        return await this.#try(`Reading a snapshot of ${session}`, () =>
          loadSnapshot(sql, schema, session, stored, projection),
        );
      },
      loadMany: (sessions, projection) =>
        this.#try("Reading snapshots", () => loadSnapshots(sql, schema, sessions, projection)),
    };
  }

  async #try<Result>(doing: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw databaseFailure(error, doing);
    }
  }
}

const cursorSchema = z.object({ position });

/** The positions that consumers have reached, one row for each name. */
function postgresCursors(sql: Sql, schema: string): CursorStore {
  const failed = (error: unknown): never => {
    throw databaseFailure(error, "The position of a consumer");
  };
  // Connections do not keep the order of calls.
  let saving: Promise<unknown> = Promise.resolve();
  return {
    async load(consumer) {
      const rows = await sql
        .query(`SELECT position FROM ${schema}.cursors WHERE name = $1`, [Buffer.from(consumer)])
        .catch(failed);
      return parseRows(cursorSchema, rows)[0]?.position;
    },
    async save(consumer, reached) {
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
