/**
 * The engine on SQLite: an example of the port. SQLite answers at once, so a change is a function that runs in a
 * transaction. Of the file's content, nothing is kept in memory except rows that still grow.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import {
  createCodec,
  type GlobalEvent,
  type NewEvent,
  type SessionEvent,
} from "../../events/index.ts";
import {
  checkDeletion,
  checkForkPoint,
  copiedRows,
  decodeRow,
  deletedError,
  dueEvents,
  idsOf,
  inSession,
  missingEvent,
  OpenRow,
  RefusedWriters,
  repeatedAt,
  rowsToAppend,
  snapshotIn,
  snapshotRow,
  spanOf,
  type Engine,
  type EventRow,
  type KnownSession,
} from "../engine/index.ts";
import type { SqliteFile } from "./sqlite-file.ts";

/**
 *   sessions   each session: its last position, times, link and tombstone (2 while its bytes may be in the file)
 *   events     rows of events (`store/event-rows`) by session and last position
 *   runs       the global order: events of one session that follow each other, from a global position on
 *   ids        the places of events with an id
 *   snapshots  folded states; those over all sessions have the number 0
 *   cursors    the positions of consumers
 */
export const tables = `
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, created REAL NOT NULL,
  updated REAL NOT NULL, parent INTEGER, base INTEGER, is_deleted INTEGER NOT NULL DEFAULT 0, told TEXT
) STRICT;
CREATE INDEX forks ON sessions (parent) WHERE parent IS NOT NULL;
CREATE VIEW listed AS
  SELECT s.number, s.session, s.revision, s.created, s.updated, s.parent, p.session AS origin, s.base,
    s.is_deleted > 0 AS isDeleted, s.told
  FROM sessions s LEFT JOIN sessions p ON p.number = s.parent;
CREATE TABLE events (
  number INTEGER NOT NULL, position INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (number, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE runs (
  global INTEGER PRIMARY KEY, number INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL
) STRICT;
CREATE TABLE ids (
  number INTEGER NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, global INTEGER NOT NULL,
  PRIMARY KEY (number, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshots (
  number INTEGER NOT NULL, projection TEXT NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (number, projection)
) STRICT;
CREATE TABLE cursors (name TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT;
`;

/** Characters of rows, and sessions or runs, that are read before others have their turn. */
const PAGE = 256 * 1024;
const MANY = 500;

const [int, text] = [z.number(), z.string()];
const sessionSchema = z.object({
  number: int,
  session: text,
  /** Of a deleted session: as long as it was. */
  revision: int,
  created: int,
  updated: int,
  /** Of a fork: the name of the session that it branches off, and the position. */
  origin: text.nullable(),
  base: int.nullable(),
  isDeleted: int.transform(Boolean),
  told: text.nullable(),
});
const shareSchema = z.object({ number: int, session: text, first: int, last: int });
const endSchema = z.object({ global: int, number: int, first: int, count: int });
const runSchema = endSchema.extend({ session: text });
const rowSchema = z.object({ position: int, line: text });
const placeSchema = z.object({ id: text, position: int, global: int });
const numberSchema = z.object({ number: int });
const textSchema = z.object({ text });
const toldSchema = z.object({ by: text.exactOptional(), spent: z.json().exactOptional() });

/** Events of a session that are stored under one number. */
type Share = z.infer<typeof shareSchema>;
type Owner = Pick<Share, "number" | "session">;
type StoredRow = Pick<EventRow, "position" | "row">;

interface Known extends KnownSession {
  /** 0 if there is no such session. */
  readonly number: number;
}

const codec = createCodec();

export function sqliteEngine(file: SqliteFile): Engine {
  const { all, run, read, change } = file;
  const refused = new RefusedWriters();
  /** The newest deltas of sessions whose block is open: one row, written again with each of them. */
  const growing = new Map<number, OpenRow>();
  file.onUndone = () => growing.clear();
  // The process may have died before it came to that.
  erase();

  return {
    append: (session, expected, events, { writer, origin }) =>
      change(
        () => {
          const known = entry(session);
          const repeated = repetition(known, events);
          if (repeated !== undefined) return repeated;
          if (known.isDeleted) throw deletedError(session);
          refused.assertNone(session, writer);
          const rows = rowsToAppend(codec, known, expected, events, { origin });
          return add(session, known.revision, rows, events);
        },
        (error) => refused.remember(session, error, writer),
      ),

    fork: (session, link, events) =>
      change(() => {
        const [known, parent] = [entry(session), entry(link.session)];
        const isNew = known.number === 0;
        const repeated = isNew
          ? repetition(known, events, parent, link.position)
          : repetition(known, events);
        if (repeated !== undefined) return repeated;
        const base = link.position;
        const rows = rowsToAppend(codec, known, "none", events, { origin: "copied", base });
        checkForkPoint(parent, link, session);
        return add(session, base, rows, events, parent.number);
      }),

    async delete(session, options) {
      const deleted = await change(() => remove(session, options));
      erase();
      return deleted;
    },

    head: async (session) => {
      const { revision, isDeleted } = read(() => entry(session));
      return { revision: isDeleted ? 0 : revision, isDeleted };
    },

    async *read(session, range) {
      const known = read(() => entry(session));
      if (known.isDeleted) return;
      const { from, to, backwards } = spanOf(range, known.revision);
      for (let next = backwards ? to : from; next >= from && next <= to;) {
        const page = read(() => pageOf(parts(session, next, backwards ? from : to)));
        if (page[0]?.position !== next) throw missingEvent(session, next);
        yield* page;
        next += backwards ? -page.length : page.length;
        if (next >= from && next <= to) await nextTurn();
      }
    },

    async *readAll(from, to) {
      for (let next = from; next <= to;) {
        const page = read(() => pageOf(globalParts(next, to)));
        yield* page;
        const last = page.at(-1);
        if (last === undefined) return;
        next = last.position + 1;
        await nextTurn();
      }
    },

    end: () => {
      const { global, count } = read(lastRun);
      return global + count - 1;
    },

    async *list(prefix) {
      for await (const listed of entries(prefix, false)) {
        const { session, revision, created, updated, origin, base } = listed;
        const entry = { session, revision, createdAt: created, updatedAt: updated };
        if (origin === null || base === null) yield entry;
        else yield { ...entry, forkedFrom: { session: origin, position: base } };
      }
    },

    async *deleted() {
      for await (const { session, revision, told } of entries("", true))
        yield { session, revision, ...toldSchema.parse(JSON.parse(told ?? "{}")) };
    },

    snapshots: {
      save: async (session, snapshot) => {
        const [row, name] = [snapshotRow(snapshot), JSON.stringify(snapshot.projection)];
        await change(() => {
          const { number, isDeleted } = entry(session);
          if (isDeleted) throw deletedError(session);
          // No session, no state.
          if (number !== 0 || session === "")
            run`INSERT INTO snapshots VALUES (${number}, ${name}, ${snapshot.position}, ${row})
              ON CONFLICT DO UPDATE SET position = excluded.position, text = excluded.text
              WHERE number <> 0 OR position <= excluded.position`;
        });
      },
      load: async (session, projection) =>
        read(() => {
          const ofAll = { number: 0, session: "", first: 1, last: Number.MAX_SAFE_INTEGER };
          for (const { number, last } of session === "" ? [ofAll] : shares(entry(session))) {
            const [found] = all(textSchema)`SELECT text FROM snapshots
              WHERE number = ${number} AND projection = ${JSON.stringify(projection)} AND position <= ${last}`;
            if (found !== undefined) return snapshotIn(found.text);
          }
          return undefined;
        }),
    },

    // JSON, since a text of SQLite cannot hold every string of JavaScript.
    cursors: {
      load: async (name) =>
        read(
          () =>
            all(numberSchema)`SELECT position AS number
            FROM cursors WHERE name = ${JSON.stringify(name)}`[0]?.number,
        ),
      save: (name, position) =>
        change(
          () => run`INSERT OR REPLACE INTO cursors VALUES (${JSON.stringify(name)}, ${position})`,
        ),
    },

    close: async () => file.close(),
  };

  function entry(session: string): Known {
    const [found] = all(sessionSchema)`SELECT * FROM listed WHERE session = ${session}`;
    return found ?? { number: 0, session, revision: 0, isDeleted: false };
  }

  async function* entries(prefix: string, areDeleted: boolean) {
    for (let from = prefix; ;) {
      const page = read(
        () => all(sessionSchema)`SELECT * FROM listed
          WHERE session >= ${from} AND isDeleted = ${Number(areDeleted)} ORDER BY session LIMIT ${MANY}`,
      );
      for (const one of page) {
        if (!one.session.startsWith(prefix)) return;
        yield one;
      }
      const last = page.at(-1);
      if (last === undefined) return;
      from = `${last.session}\0`;
      await nextTurn();
    }
  }

  /** Where the events of a session are, newest first, up to a position: its own, and for a fork those that it shares. */
  function shares({ number, revision }: Known, to: number = revision): readonly Share[] {
    return all(shareSchema)`WITH RECURSIVE line (number, session, parent, first, last) AS (
        SELECT number, session, parent, coalesce(base, 0) + 1, ${to} FROM sessions WHERE number = ${number}
        UNION ALL
        SELECT s.number, s.session, s.parent, coalesce(s.base, 0) + 1, min(line.last, line.first - 1)
        FROM line JOIN sessions s ON s.number = line.parent
      ) SELECT number, session, first, last FROM line WHERE first <= last ORDER BY first DESC`;
  }

  /** What an earlier append of the same events returned. `holder`, `to`: what the session has, or is to share. */
  function repetition(
    known: Known,
    events: readonly NewEvent[],
    holder: Known = known,
    to: number = holder.revision,
  ) {
    const ids = idsOf(known, events);
    if (ids.length === 0) return undefined;
    const stored = JSON.stringify(ids.map((id) => JSON.stringify(id)));
    const places = shares(holder, to).flatMap(
      ({ number, last }) => all(placeSchema)`SELECT id, position, global FROM ids
        WHERE number = ${number} AND id IN (SELECT value FROM json_each(${stored})) AND position <= ${last}`,
    );
    const last = repeatedAt(known, ids, new Map(places.map((place) => [place.id, place])));
    return last && { revision: last.position, position: last.global, repeated: true };
  }

  /** Adds events behind a position. `parent`: of a new fork. */
  function add(
    session: string,
    base: number,
    rows: readonly EventRow[],
    events: readonly NewEvent[],
    parent: number | null = null,
  ) {
    const [first, last, revision] = [events[0], events.at(-1), base + events.length];
    const [{ number } = { number: 0 }] = all(numberSchema)`
      INSERT INTO sessions (session, revision, created, updated, parent, base)
      VALUES (${session}, ${revision}, ${first?.time ?? 0}, ${last?.time ?? 0}, ${parent}, ${parent && base})
      ON CONFLICT (session) DO UPDATE SET revision = excluded.revision, updated = excluded.updated RETURNING number`;
    const global = order(number, base + 1, events.length);
    for (const [index, { id }] of events.entries()) {
      if (id !== undefined)
        run`INSERT INTO ids VALUES (${number}, ${JSON.stringify(id)}, ${base + 1 + index}, ${global + index})`;
    }
    const open = growing.get(number) ?? new OpenRow(session);
    const taken = open.take(rows);
    if (taken.stored === "is contained")
      run`DELETE FROM events WHERE number = ${number} AND position = ${base}`;
    addRows(number, taken.open === undefined ? taken.rows : [...taken.rows, taken.open]);
    if (open.isOpen) growing.set(number, open);
    else growing.delete(number);
    return { revision, position: global + events.length - 1, repeated: false };
  }

  function addRows(number: number, rows: readonly StoredRow[]): void {
    for (const { position, row } of rows)
      run`INSERT INTO events VALUES (${number}, ${position}, ${row})`;
  }

  /** Gives events of a session the next global positions, and returns the first of them. */
  function order(number: number, first: number, count: number): number {
    const end = lastRun();
    const global = end.global + end.count;
    if (end.number === number && end.first + end.count === first)
      run`UPDATE runs SET count = count + ${count} WHERE global = ${end.global}`;
    else run`INSERT INTO runs VALUES (${global}, ${number}, ${first}, ${count})`;
    return global;
  }

  function lastRun() {
    const [end] = all(endSchema)`SELECT * FROM runs ORDER BY global DESC LIMIT 1`;
    return end ?? { global: 1, number: 0, first: 0, count: 0 };
  }

  /** The row that contains a position, since a row has the positions up to its own. */
  function rowWith({ number, session }: Owner, at: number) {
    const [row] = all(rowSchema)`SELECT position, line FROM events
      WHERE number = ${number} AND position >= ${at} ORDER BY position LIMIT 1`;
    if (row === undefined) throw missingEvent(session, at);
    return row;
  }

  /** Events that are stored under one number, row by row. `decoded`: the last row of each number, for many short reads. */
  function* rowsOf(owner: Owner, at: number, end: number, decoded: Decoded = new Map()) {
    for (let next = at; end < at ? next >= end : next <= end;) {
      const { position, line } = rowWith(owner, next);
      let row = decoded.get(owner.number);
      if (row?.line !== line)
        row = { line, events: decodeRow(codec, line, { session: owner.session, position }) };
      decoded.set(owner.number, row);
      const events = dueEvents(owner.session, row.events, next, end);
      yield { events, size: line.length };
      next += end < at ? -events.length : events.length;
    }
  }

  /** Events of a session from a position on, towards the last one that is wanted. */
  function* parts(session: string, next: number, end: number): Generator<Part<SessionEvent>> {
    const known = entry(session);
    if (known.isDeleted) throw deletedError(session);
    const [low, high] = [Math.min(next, end), Math.max(next, end)];
    const line = shares(known, high);
    try {
      for (const share of end < next ? line : line.toReversed()) {
        const [first, last] = [Math.max(low, share.first), Math.min(high, share.last)];
        if (first > last) continue;
        if (end < next) yield* rowsOf(share, last, first);
        else yield* rowsOf(share, first, last);
      }
    } catch (error) {
      throw inSession(session, error);
    }
  }

  /** Events of all sessions in their order, or none if there are no more. */
  function* globalParts(from: number, to: number): Generator<Part<GlobalEvent>> {
    const runs = all(runSchema)`SELECT r.*, s.session
      FROM runs r JOIN sessions s ON s.number = r.number
      WHERE r.global >= (SELECT max(global) FROM runs WHERE global <= ${from})
        AND r.global + r.count > ${from} AND r.global <= ${to} AND NOT s.is_deleted ORDER BY r.global LIMIT ${MANY}`;
    // Many runs may be parts of one row.
    const decoded: Decoded = new Map();
    for (const { global, first, count, ...owner } of runs) {
      const last = first + Math.min(count - 1, to - global);
      const at = first + Math.max(0, from - global);
      for (const { events, size } of rowsOf(owner, at, last, decoded))
        yield {
          size,
          events: events.map((event) => ({
            position: global + event.position - first,
            session: owner.session,
            event,
          })),
        };
    }
  }

  /** Removes a session; its name and length stay. */
  function remove(session: string, { forks: mode, ...told }: Parameters<Engine["delete"]>[1]) {
    const { number, revision, isDeleted } = entry(session);
    const deleted = { session, revision, erased: true };
    if (isDeleted) return { ...deleted, forks: [], repeated: true };
    const forks = all(sessionSchema)`SELECT * FROM listed
      WHERE parent = ${number} AND NOT isDeleted ORDER BY session`;
    const names = forks.map((fork) => fork.session);
    checkDeletion({ session, revision }, names, mode);
    // A damaged row refuses the deletion: all is read before anything is written.
    for (const write of forks.map((fork) => independent(fork, number))) write();
    run`DELETE FROM events WHERE number = ${number}`;
    run`DELETE FROM ids WHERE number = ${number}`;
    run`DELETE FROM snapshots WHERE number = ${number}`;
    run`UPDATE sessions SET is_deleted = 2, told = ${JSON.stringify(told)}, parent = NULL, base = NULL
      WHERE number = ${number}`;
    growing.delete(number);
    return { ...deleted, forks: names, repeated: false };
  }

  /** Reads what a fork shares with its parent. Returns what gives it copies, and links it to the session behind. */
  function independent(fork: Known, parent: number): () => void {
    const [, nearest, behind] = shares(fork);
    // A fork may branch off where the parent is a fork too, and share nothing of the parent's own.
    const own = nearest?.number === parent ? nearest : undefined;
    const rest = own === undefined ? nearest : behind;
    const rows = own === undefined ? [] : [...copies(own, fork.session)];
    return () => {
      const { number } = fork;
      addRows(number, rows);
      run`UPDATE sessions SET parent = ${rest?.number ?? null}, base = ${rest?.last ?? null}
        WHERE number = ${number}`;
      if (own === undefined) return;
      run`INSERT INTO ids SELECT ${number}, id, position, global FROM ids
        WHERE number = ${parent} AND position <= ${own.last}`;
      run`INSERT OR IGNORE INTO snapshots SELECT ${number}, projection, position, text FROM snapshots
        WHERE number = ${parent} AND position <= ${own.last}`;
      // It was created when the parent was.
      run`UPDATE sessions SET created = (SELECT created FROM sessions WHERE number = ${parent})
        WHERE number = ${number}`;
    };
  }

  function* copies(own: Share, fork: string) {
    for (let at = own.first; at <= own.last;) {
      const { position, line } = rowWith(own, at);
      yield* copiedRows(codec, { ...own, position }, line, fork, at, own.last);
      at = position + 1;
    }
  }

  /** Removes the bytes of deleted sessions. */
  function erase(): void {
    const left = read(
      () => all(numberSchema)`SELECT number FROM sessions WHERE is_deleted = 2 LIMIT 1`,
    );
    if (left.length === 0) return;
    file.rewrite();
    // Last: a process that dies before begins again at the next opening.
    run`UPDATE sessions SET is_deleted = 1 WHERE is_deleted = 2`;
  }
}

type Decoded = Map<number, { readonly line: string; readonly events: readonly SessionEvent[] }>;

interface Part<Item> {
  readonly events: readonly Item[];
  /** The characters that were read for it. */
  readonly size: number;
}

/** Takes parts until there is enough for others to have their turn. */
function pageOf<Item>(parts: Iterable<Part<Item>>): readonly Item[] {
  const page: Item[] = [];
  let read = 0;
  try {
    for (const { events, size } of parts) {
      page.push(...events);
      read += size;
      if (read >= PAGE) break;
    }
  } catch (error) {
    // Events before a damaged one can be read.
    if (page.length === 0) throw error;
  }
  return page;
}
