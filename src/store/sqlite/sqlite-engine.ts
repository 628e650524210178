/**
 * The engine on SQLite: an example of the port. SQLite answers at once, so a change is a function that runs in a
 * transaction; the changes that are asked for in one turn of the event loop share one, and with it the wait for the
 * disk. Of the file's content, nothing is kept in memory except rows that still grow.
 */

import type { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { createCodec, TurnlogError } from "../../events/index.ts";
import {
  checkForkPoint,
  checkRevision,
  deletedError,
  RefusedWriters,
  rowsToAppend,
  snapshotIn,
  snapshotRow,
  spanOf,
  type Engine,
} from "../engine/index.ts";
import { SessionRows } from "./session-rows.ts";
import { failureOf, inPlace } from "./sqlite-file.ts";
import { statementsOf, type Statements } from "./statements.ts";

const codec = createCodec();
const spentSchema = z.json();

/** `file`: its name in messages. */
export function sqliteEngine(database: DatabaseSync, file: string): Engine {
  const sql = statementsOf(database);
  const rows = new SessionRows(sql, codec);
  const changes = new Changes(sql, inPlace(file), (error) => {
    rows.forget();
    return failureOf(error, file, "written");
  });
  const refused = new RefusedWriters();
  /** Runs statements that change nothing. */
  const asked = <Result>(ask: () => Result): Result => {
    // Reading may go on while the log is closed.
    if (!database.isOpen)
      throw new TurnlogError(
        "LOG_CLOSED",
        "The log was closed while it was read. Open it again to continue.",
      );
    try {
      return ask();
    } catch (error) {
      throw failureOf(error, file, "read");
    }
  };

  /**
   * Removes the bytes of deleted sessions, for which SQLite has to write the file anew: with `secure_delete` copies
   * stay where it once moved a row from one page to another.
   */
  const erase = (): void => {
    try {
      if (sql.unerased().length === 0) return;
      sql.rewriteFile();
      sql.emptyJournal();
      // Last: a process that dies before begins again at the next opening.
      sql.noteErased();
    } catch (error) {
      throw failureOf(error, file, "rid of deleted bytes");
    }
  };
  // The process may have died before it came to that.
  erase();

  return {
    append: (session, expected, events, { writer, origin }) =>
      changes.add(
        () => {
          const known = rows.known(session);
          const repeated = rows.repeated(known, events);
          if (repeated !== undefined) return repeated;
          if (known.isDeleted) throw deletedError(session);
          refused.assertNone(session, writer);
          const added = rowsToAppend(codec, known, expected, events, { origin });
          return rows.add(known, known.revision, added, events);
        },
        (error) => refused.remember(session, error, writer),
      ),

    fork: (session, link, events) =>
      changes.add(() => {
        const known = rows.known(session);
        const repeated = rows.repeated(known, events, link);
        if (repeated !== undefined) return repeated;
        if (known.isDeleted) throw deletedError(session);
        checkRevision(known, "none");
        checkForkPoint(rows.known(link.session), link, session);
        const base = link.position;
        const added = rowsToAppend(codec, known, "none", events, { origin: "copied", base });
        return rows.add(known, base, added, events, link.session);
      }),

    async delete(session, options) {
      const deleted = await changes.add(() => rows.remove(session, options));
      erase();
      return deleted;
    },

    head: async (session) => {
      const { revision, isDeleted } = asked(() => rows.known(session));
      return { revision: isDeleted ? 0 : revision, isDeleted };
    },

    async *read(session, range) {
      const head = asked(() => rows.known(session));
      if (head.isDeleted) return;
      const { from, to, backwards } = spanOf(range, head.revision);
      for (let next = backwards ? to : from; next >= from && next <= to;) {
        const page = asked(() => rows.page(session, next, backwards ? from : to));
        yield* page;
        next += backwards ? -page.length : page.length;
        if (next >= from && next <= to) await nextTurn();
      }
    },

    async *readAll(from, to) {
      for (let next = from; next <= to;) {
        const page = asked(() => rows.globalPage(next, to));
        yield* page;
        const last = page.at(-1);
        if (last === undefined) return;
        next = last.position + 1;
        await nextTurn();
      }
    },

    end: () => asked(() => rows.end()),

    async *list(prefix) {
      for await (const entry of pages(prefix, [0, 0])) {
        const { session, revision, created, updated, parent, parent_position: position } = entry;
        const listed = { session, revision, createdAt: created, updatedAt: updated };
        if (parent === null || position === null) yield listed;
        else yield { ...listed, forkedFrom: { session: parent, position } };
      }
    },

    async *deleted() {
      for await (const { session, revision, deleted_by: by, spent } of pages("", [1, 2]))
        yield {
          session,
          revision,
          ...(by === null ? {} : { by }),
          ...(spent === null ? {} : { spent: spentSchema.parse(JSON.parse(spent)) }),
        };
    },

    snapshots: {
      save: async (session, snapshot) => {
        const { projection, position } = snapshot;
        const row = snapshotRow(snapshot);
        await changes.add(() => {
          const name = JSON.stringify(projection);
          const { number, isDeleted } = rows.known(session);
          if (isDeleted) throw deletedError(session);
          // No session, no state.
          if (number !== 0 || session === "") sql.saveSnapshot(number, name, position, row);
        });
      },
      load: async (session, projection) =>
        asked(() => {
          const ofAll = [{ number: 0, last: Number.MAX_SAFE_INTEGER }];
          for (const { number, last } of session === ""
            ? ofAll
            : rows.shares(rows.known(session))) {
            const [found] = sql.snapshot(number, JSON.stringify(projection), last);
            if (found !== undefined) return snapshotIn(found.text);
          }
          return undefined;
        }),
    },

    // JSON, since a text of SQLite cannot hold every string of JavaScript.
    cursors: {
      load: async (name) => asked(() => sql.cursor(JSON.stringify(name))[0]?.number),
      save: (name, position) => changes.add(() => sql.saveCursor(JSON.stringify(name), position)),
    },

    async close() {
      try {
        database.close();
      } catch (error) {
        throw failureOf(error, file, "closed");
      }
    },
  };

  async function* pages(prefix: string, deleted: readonly [from: number, to: number]) {
    for (let from = prefix; ;) {
      const page = asked(() => sql.sessionsFrom(from, ...deleted));
      for (const entry of page) {
        if (!entry.session.startsWith(prefix)) return;
        yield entry;
      }
      const last = page.at(-1);
      if (last === undefined) return;
      from = `${last.session}\0`;
      await nextTurn();
    }
  }
}

/**
 * Runs the changes of a turn of the event loop in one transaction. One that is refused has written nothing, so it does
 * not disturb the others. (A savepoint around each change would double the time that SQLite takes.)
 */
class Changes {
  readonly #sql: Statements;
  readonly #assertUsable: () => void;
  readonly #failed: (error: unknown) => TurnlogError;
  #waiting: Change[] = [];

  /** `failed`: called when a transaction is undone, with the error of SQLite. Returns the error of its changes. */
  constructor(sql: Statements, assertUsable: () => void, failed: (error: unknown) => TurnlogError) {
    this.#sql = sql;
    this.#assertUsable = assertUsable;
    this.#failed = failed;
  }

  /**
   * Resolves when the change is as durable as the file promises. `refused` sees an error before the next change runs,
   * and returns the one to throw.
   */
  add<Result>(
    change: () => Result,
    refused: (error: unknown) => unknown = (error) => error,
  ): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const run = (): Answer => {
      const result = change();
      return () => {
        resolve(result);
      };
    };
    const refuse = (error: unknown): Answer => {
      const refusal = refused(error);
      return () => {
        reject(refusal);
      };
    };
    if (this.#waiting.push({ run, refuse }) === 1)
      setImmediate(() => {
        const changes = this.#waiting;
        this.#waiting = [];
        for (const answer of this.#commit(changes)) answer();
      });
    return promise;
  }

  #commit(changes: readonly Change[]): readonly Answer[] {
    const sql = this.#sql;
    try {
      this.#assertUsable();
      sql.begin();
      const answers = changes.map(({ run, refuse }) => {
        try {
          return run();
        } catch (error) {
          if (!TurnlogError.isInstance(error)) throw error;
          return refuse(error);
        }
      });
      sql.commit();
      return answers;
    } catch (error) {
      try {
        sql.rollback();
      } catch {
        // After some errors SQLite has undone the transaction itself.
      }
      const failure = this.#failed(error);
      // One of them may be the cause: its input, or a damaged session. A full disk concerns them all.
      if (changes.length > 1 && failure.code !== "LOG_FULL")
        return changes.flatMap((change) => this.#commit([change]));
      return changes.map(({ refuse }) => refuse(failure));
    }
  }
}

type Answer = () => void;

interface Change {
  readonly run: () => Answer;
  readonly refuse: (error: unknown) => Answer;
}
