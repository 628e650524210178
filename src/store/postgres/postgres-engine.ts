/** The engine on PostgreSQL: its parts, and how they call each other. */

import { createCodec } from "../../events/index.ts";
import { defer, plainEvents } from "../../shared/index.ts";
import { Following, type Engine } from "../engine/index.ts";
import { queuedEvents } from "../event-rows/index.ts";
import { closedError, deletedError } from "../log-rules/log-errors.ts";
import { PostgresBlobs } from "./blobs/postgres-blobs.ts";
import { Database, retrying } from "./database/statements.ts";
import { Heads, type Head, deletedSessions, listSessions } from "./heads/heads.ts";
import { Claims } from "./nodes/claims.ts";
import { Hints } from "./nodes/hints.ts";
import { Commands } from "./nodes/inbox.ts";
import { horizon, readGlobal } from "./read/global-order.ts";
import { Reading } from "./read/reading.ts";
import { deleteSession } from "./upkeep/deletion.ts";
import { postgresCursors, postgresSnapshots } from "./upkeep/snapshots.ts";
import { Appender, fork } from "./write/appender.ts";
import { Committer } from "./write/committer.ts";

export interface PostgresEngineOptions {
  readonly listen: boolean;
  readonly pollingMs: number;
  readonly leaseMs: number;
}

export function postgresEngine(database: Database, options: PostgresEngineOptions): Engine {
  const { pollingMs, leaseMs } = options;
  const { pool, schema } = database;
  const codec = createCodec();
  /** For statements that may run twice. */
  const sql = new Database(retrying(pool), schema);
  const source = { sql, codec };
  /** Looks for what other processes wrote, while somebody follows. */
  let look: ((sessions?: readonly string[]) => Promise<void>) | undefined;

  const followers = new Following(
    {
      head,
      read: (session, range) => reading.read(session, range),
      readAll: (from, to) => readGlobal(source, from, to),
      end,
      others: { watch },
    },
    {
      decode: (session, row) => queuedEvents(codec, session, row),
      attach: (session, tail) => heads.attach(session, tail),
    },
  );
  const heads = new Heads(sql, followers.tails);
  const reading = new Reading({ source, heads });
  const hints = new Hints({
    pool,
    schema,
    isOn: options.listen,
    onEvents: (sessions) => void look?.(sessions),
    onCommands: () => inbox.hint(),
  });
  const committer = new Committer({
    sql: database,
    retrying: sql,
    onRefused: (head, appends) => {
      heads.reload(head);
      appender.again(appends);
    },
    onWritten: (sessions) => {
      followers.notify();
      hints.events(sessions);
    },
    onFailed: (head) => heads.reload(head),
  });
  const appender = new Appender({ ...source, committer });
  const tell = (): void => hints.commands();
  const ownership = new Claims({
    ...source,
    leaseMs,
    tell,
    between: (session, take) => alone(heads.of(session), take),
  });
  const inbox = new Commands({
    ...source,
    intervalMs: pollingMs,
    listen: () => hints.listen(),
    tell,
    node: () => ownership.node,
  });
  const blobs = new PostgresBlobs(sql);

  const engine: Engine & { readonly [plainEvents]: true } = {
    [plainEvents]: true,
    followers,
    others: { watch },
    ownership,
    inbox,
    blobs,
    snapshots: postgresSnapshots(sql, heads),
    cursors: postgresCursors(sql),

    append: (session, expected, events, given) =>
      appender.append(heads.of(session), expected, events, given),

    fork: (session, link, events) =>
      fork({ sql: database, codec, heads, appender, committer }, session, link, events).finally(
        () => wrote(session),
      ),

    delete: (session, given) => {
      const own = heads.of(session);
      // Earlier appends to this session are deleted with it.
      return alone(own, async () => {
        const deleted = await database.transaction(`Deleting session ${session}`, (within) =>
          deleteSession(within, codec, session, given),
        );
        own.tail?.fail(deletedError(session));
        for (const copied of deleted.forks) heads.reload(heads.of(copied));
        return deleted;
      }).finally(() => wrote(session));
    },

    head,
    read: (session, range) => reading.read(session, range),
    readAt: (session, positions) => reading.readAt(session, positions),
    readAll: (from, to) => readGlobal(source, from, to),
    end,
    list: (prefix) => listSessions(sql, prefix),
    deleted: () => deletedSessions(sql),

    async close() {
      await appender.settled();
      while (committer.isBusy) await committer.idle();
      await blobs.end();
      await inbox.end(closedError());
      await ownership.end();
      hints.end();
      await followers.end();
      await pool.end();
    },
  };
  return engine;

  /** The database shows an event before its answer arrives here: no follower sees it earlier than the caller. */
  async function head(session: string) {
    const stored = await heads.stored(session);
    await committer.answered();
    return stored;
  }

  async function end(): Promise<number> {
    const last = await horizon(sql);
    await committer.answered();
    return last;
  }

  /** Runs `act` between the earlier appends to the session and the later ones, which read its entry again. */
  function alone<Result>(own: Head, act: () => Promise<Result>): Promise<Result> {
    return appender.run(own, async () => {
      await committer.idle();
      const appended = await act();
      // Another process may have written since this one had the session.
      heads.reload(own);
      await own.loaded;
      return { appended };
    });
  }

  function wrote(session: string): void {
    followers.notify();
    hints.events([session]);
  }

  /** A hint may be lost; the interval is the truth. */
  function watch(changed: (sessions?: readonly string[]) => Promise<void>): Disposable {
    look = changed;
    hints.listen();
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      timer = setTimeout(() => void changed().then(() => look === changed && wait()), pollingMs);
    };
    wait();
    return defer(() => {
      clearTimeout(timer);
      look = undefined;
    });
  }
}
