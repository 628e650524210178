/**
 * The statements on the tables, each compiled once.
 *
 *   sessions   each session: its last position, times, link and tombstone
 *   events     rows of events (`store/event-rows`) by session and last position
 *   runs       the global order: events of one session that follow each other in it
 *   ids        the places of events with an id
 *   snapshots  folded states; those over all sessions have the number 0
 *   cursors    the positions of consumers
 */

import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { z } from "zod";

export const tables = `
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, created REAL NOT NULL,
  updated REAL NOT NULL, parent INTEGER, parent_position INTEGER, is_deleted INTEGER NOT NULL DEFAULT 0, deleted_by TEXT,
  spent TEXT
) STRICT;
CREATE INDEX forks ON sessions (parent) WHERE parent IS NOT NULL;
CREATE TABLE events (
  session INTEGER NOT NULL, position INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (session, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
  position INTEGER PRIMARY KEY, session INTEGER NOT NULL, last INTEGER NOT NULL, count INTEGER NOT NULL
) STRICT;
CREATE TABLE ids (
  session INTEGER NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, global_position INTEGER NOT NULL,
  PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshots (
  session INTEGER NOT NULL, projection TEXT NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (session, projection)
) STRICT;
CREATE TABLE cursors (name TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT;
`;

// What SQLite answers is checked like any input: another program may have written to the file.

/** Sessions or runs of the global order that are read at once. */
const MANY = 500;

const sessionSchema = z.object({
  number: z.number(),
  session: z.string(),
  /** Of a deleted session: as long as it was. */
  revision: z.number(),
  created: z.number(),
  updated: z.number(),
  parent: z.string().nullable(),
  parent_position: z.number().nullable(),
  /** 2 while its bytes may be in the file. */
  is_deleted: z.literal([0, 1, 2]),
  deleted_by: z.string().nullable(),
  /** Of a deleted session: JSON. */
  spent: z.string().nullable(),
});
/** Events of a session that are stored under one session's number: its own, or what a fork shares. */
const shareSchema = z.object({
  number: z.number(),
  session: z.string(),
  first: z.number(),
  last: z.number(),
});
export type Share = z.infer<typeof shareSchema>;
/** Events of one session that follow each other in the global order, the last one at `position`. */
const runSchema = z.object({
  position: z.number(),
  number: z.number(),
  session: z.string(),
  last: z.number(),
  count: z.number(),
});
const rowSchema = z.object({ position: z.number(), line: z.string() });
const placeSchema = z.object({ position: z.number(), global_position: z.number() });
const textSchema = z.object({ text: z.string() });
const numberSchema = z.object({ number: z.number() });

export type Statements = ReturnType<typeof statementsOf>;

export function statementsOf(database: DatabaseSync) {
  const ask = <Row>(row: z.ZodType<Row>, sql: string) => {
    const statement = database.prepare(sql);
    return (...values: SQLInputValue[]): Row[] =>
      statement.all(...values).map((found) => row.parse(found));
  };
  const run = (sql: string) => {
    const statement = database.prepare(sql);
    return (...values: SQLInputValue[]): void => void statement.run(...values);
  };
  const sessions = `SELECT s.number, s.id AS session, s.revision, s.created, s.updated, p.id AS parent,
    s.parent_position, s.is_deleted, s.deleted_by, s.spent FROM sessions s LEFT JOIN sessions p ON p.number = s.parent`;
  const grown = ask(
    numberSchema,
    `INSERT INTO sessions (id, revision, created, updated, parent, parent_position)
     VALUES (?, ?, ?, ?, (SELECT number FROM sessions WHERE id = ?), ?)
     ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, updated = excluded.updated RETURNING number`,
  );
  return {
    rollback: run("ROLLBACK"),
    begin: run("BEGIN IMMEDIATE"),
    commit: run("COMMIT"),
    /** Deleted sessions whose bytes may be in the file. */
    unerased: ask(numberSchema, "SELECT number FROM sessions WHERE is_deleted = 2 LIMIT 1"),
    rewriteFile: run("VACUUM"),
    noteErased: run("UPDATE sessions SET is_deleted = 1 WHERE is_deleted = 2"),
    emptyJournal: run("PRAGMA wal_checkpoint(TRUNCATE)"),

    session: ask(sessionSchema, `${sessions} WHERE s.id = ?`),
    sessionsFrom: ask(
      sessionSchema,
      `${sessions} WHERE s.id >= ? AND s.is_deleted BETWEEN ? AND ? ORDER BY s.id LIMIT ${MANY}`,
    ),
    forksOf: ask(
      sessionSchema,
      `${sessions} WHERE s.parent = ? AND NOT s.is_deleted ORDER BY s.id`,
    ),
    /** Answers the session's number. A session is new with its first events. */
    grow: (...values: SQLInputValue[]): number => grown(...values)[0]?.number ?? 0,
    /** A fork that got its parent's events was created when the parent was. */
    relink: run(
      `UPDATE sessions SET parent = ?, parent_position = ?,
         created = coalesce((SELECT created FROM sessions WHERE number = ?), created) WHERE number = ?`,
    ),
    bury: run(
      `UPDATE sessions SET is_deleted = 2, deleted_by = ?, spent = ?, parent = NULL, parent_position = NULL WHERE number = ?`,
    ),
    /** Newest first, up to a position. */
    shares: ask(
      shareSchema,
      `WITH RECURSIVE line (number, session, parent, first, last) AS (
         SELECT number, id, parent, coalesce(parent_position, 0) + 1, ?2 FROM sessions WHERE number = ?1
         UNION ALL
         SELECT s.number, s.id, s.parent, coalesce(s.parent_position, 0) + 1, min(line.last, line.first - 1)
         FROM line JOIN sessions s ON s.number = line.parent
       ) SELECT number, session, first, last FROM line WHERE first <= last ORDER BY first DESC`,
    ),

    /** A row has the positions up to its own, so the first one from a position on contains it. */
    row: ask(
      rowSchema,
      `SELECT position, line FROM events WHERE session = ? AND position >= ? ORDER BY position LIMIT 1`,
    ),
    addRow: run("INSERT INTO events (session, position, line) VALUES (?, ?, ?)"),
    removeRow: run("DELETE FROM events WHERE session = ? AND position = ?"),
    removeRows: run("DELETE FROM events WHERE session = ?"),

    lastRun: ask(
      runSchema,
      `SELECT position, session AS number, '' AS session, last, count FROM runs ORDER BY position DESC LIMIT 1`,
    ),
    runsFrom: ask(
      runSchema,
      `SELECT r.position, r.session AS number, s.id AS session, r.last, r.count
       FROM runs r JOIN sessions s ON s.number = r.session
       WHERE r.position >= ? AND NOT s.is_deleted ORDER BY r.position LIMIT ${MANY}`,
    ),
    addRun: run("INSERT INTO runs (position, session, last, count) VALUES (?, ?, ?, ?)"),
    extendRun: run("UPDATE runs SET position = ?, last = ?, count = ? WHERE position = ?"),

    place: ask(
      placeSchema,
      `SELECT position, global_position FROM ids WHERE session = ? AND id = ? AND position <= ?`,
    ),
    addId: run("INSERT INTO ids (session, id, position, global_position) VALUES (?, ?, ?, ?)"),
    copyIds: run(
      `INSERT INTO ids SELECT ?, id, position, global_position FROM ids WHERE session = ? AND position <= ?`,
    ),
    removeIds: run("DELETE FROM ids WHERE session = ?"),

    snapshot: ask(
      textSchema,
      `SELECT text FROM snapshots WHERE session = ? AND projection = ? AND position <= ?`,
    ),
    saveSnapshot: run(
      `INSERT INTO snapshots VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position, text = excluded.text
       WHERE session <> 0 OR position <= excluded.position`,
    ),
    removeSnapshots: run("DELETE FROM snapshots WHERE session = ?"),
    copySnapshots: run(
      `INSERT OR IGNORE INTO snapshots SELECT ?, projection, position, text FROM snapshots
       WHERE session = ? AND position <= ?`,
    ),
    cursor: ask(numberSchema, `SELECT position AS number FROM cursors WHERE name = ?`),
    saveCursor: run("INSERT OR REPLACE INTO cursors VALUES (?, ?)"),
  };
}
