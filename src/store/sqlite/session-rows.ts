/** What the tables say of sessions, and how it changes. Every method is part of a transaction or changes nothing. */

import type { Codec, GlobalEvent, NewEvent, SessionEvent } from "../../events/index.ts";
import {
  damagedAt,
  decodeRow,
  encodedRows,
  hasForks,
  idOf,
  idsOf,
  inSession,
  isDelta,
  notFound,
  OpenRow,
  repeatedAt,
  type EventRow,
  type KnownSession,
  deletedError,
  type Engine,
} from "../engine/index.ts";
import type { Share, Statements } from "./statements.ts";

/** Characters of rows that are read before others have their turn. */
const PAGE = 256 * 1024;

interface StoredSession extends KnownSession {
  /** 0 if there is no such session. */
  readonly number: number;
}

interface Row {
  /** Of its last event. */
  readonly position: number;
  readonly line: string;
  readonly events: readonly SessionEvent[];
}

export class SessionRows {
  readonly #sql: Statements;
  readonly #codec: Codec;
  /** The newest deltas of sessions whose block is open: one row, written again with each of them. */
  readonly #open = new Map<number, OpenRow>();

  constructor(sql: Statements, codec: Codec) {
    this.#sql = sql;
    this.#codec = codec;
  }

  known(session: string): StoredSession {
    const [found] = this.#sql.session(session);
    if (found === undefined) return { number: 0, session, revision: 0, isDeleted: false };
    return { ...found, isDeleted: found.is_deleted > 0 };
  }

  /** Where the events of a session are, newest first, up to a position. */
  shares({ number, revision }: StoredSession, to: number = revision): readonly Share[] {
    return this.#sql.shares(number, to);
  }

  /** What an earlier append of the same events returned. `link`: of the fork that they are to create. */
  repeated(
    known: StoredSession,
    events: readonly NewEvent[],
    link?: Parameters<Engine["fork"]>[1],
  ) {
    const ids = idsOf(known, events);
    if (ids.length === 0) return undefined;
    const isNew = known.number === 0 && link !== undefined;
    const shares = isNew
      ? this.shares(this.known(link.session), link.position)
      : this.shares(known);
    const found = new Map<
      string,
      { readonly position: number; readonly global_position: number }
    >();
    for (const id of ids)
      for (const { number, last } of shares)
        for (const place of this.#sql.place(number, JSON.stringify(id), last)) found.set(id, place);
    const last = repeatedAt(known, ids, found);
    return last && { revision: last.position, position: last.global_position, repeated: true };
  }

  /** Adds events behind a position. `parent`: of a new fork. */
  add(
    { session }: StoredSession,
    base: number,
    rows: readonly EventRow[],
    events: readonly NewEvent[],
    parent?: string,
  ) {
    const sql = this.#sql;
    const revision = base + events.length;
    const [created, updated] = [events[0]?.time ?? 0, events.at(-1)?.time ?? 0];
    const link = parent === undefined ? null : base;
    const number = sql.grow(session, revision, created, updated, parent ?? null, link);
    const position = this.#ordered(number, base, events.length);
    for (const [index, event] of events.entries()) {
      const id = idOf(event);
      if (id === undefined) continue;
      sql.addId(number, JSON.stringify(id), base + 1 + index, position - events.length + 1 + index);
    }
    this.#addRows(number, session, base, rows, events);
    return { revision, position, repeated: false };
  }

  /** Gives events the next global positions, and returns the last of them. */
  #ordered(number: number, base: number, count: number): number {
    const sql = this.#sql;
    const [run] = sql.lastRun();
    const position = (run?.position ?? 0) + count;
    if (run?.number === number && run.last === base)
      sql.extendRun(position, base + count, run.count + count, run.position);
    else sql.addRun(position, number, base + count, count);
    return position;
  }

  #addRows(
    number: number,
    session: string,
    base: number,
    rows: readonly EventRow[],
    events: readonly NewEvent[],
  ): void {
    const growing = this.#open.get(number) ?? new OpenRow(session);
    const { rows: over, open, stored } = growing.take(rows);
    if (stored === "is contained") this.#sql.removeRow(number, base);
    for (const { position, row } of open === undefined ? over : [...over, open])
      this.#sql.addRow(number, position, row);
    const last = events.at(-1);
    if (last !== undefined && isDelta(last)) this.#open.set(number, growing);
    else this.#open.delete(number);
  }

  /** Events of a session from a position on, towards the last one that is wanted: at least one of them. */
  page(session: string, next: number, end: number): readonly SessionEvent[] {
    const known = this.known(session);
    if (known.isDeleted) throw deletedError(session);
    const isBackwards = end < next;
    const share = this.shares(known, Math.max(next, end)).find(({ first }) => first <= next);
    if (share === undefined) throw damagedAt(session, next, "the event is missing");
    const limit = isBackwards ? Math.max(end, share.first) : Math.min(end, share.last);
    const page: SessionEvent[] = [];
    let [at, size] = [next, 0];
    try {
      while ((isBackwards ? at >= limit : at <= limit) && size < PAGE) {
        const { events, line } = this.#row(share, at);
        size += line.length;
        const [from, to] = isBackwards ? [limit, at] : [at, limit];
        const kept = events.filter(({ position }) => position >= from && position <= to);
        page.push(...(isBackwards ? kept.toReversed() : kept));
        at += isBackwards ? -kept.length : kept.length;
      }
    } catch (error) {
      // Events before a damaged one can be read.
      if (page.length === 0) throw inSession(session, error);
    }
    return page;
  }

  /** Events of all sessions in their order, or none if there are no more. */
  globalPage(from: number, to: number): readonly GlobalEvent[] {
    const page: GlobalEvent[] = [];
    let size = 0;
    const read = (run: Pick<Share, "number" | "session">, at: number): Row | undefined => {
      try {
        return this.#row(run, at);
      } catch (error) {
        // Events before a damaged one can be read.
        if (page.length === 0) throw error;
        return undefined;
      }
    };
    // Many runs may be parts of one row.
    const rows = new Map<number, Row>();
    for (const run of this.#sql.runsFrom(from)) {
      const ahead = run.last - run.position;
      const first = Math.max(from, run.position - run.count + 1) + ahead;
      const last = Math.min(to, run.position) + ahead;
      for (let at = first; at <= last;) {
        let row = rows.get(run.number);
        if (row === undefined || row.position < at) {
          if (size >= PAGE) return page;
          row = read(run, at);
          if (row === undefined) return page;
          size += row.line.length;
          rows.set(run.number, row);
        }
        for (const event of row.events) {
          if (event.position < at || event.position > last) continue;
          page.push({ position: event.position - ahead, session: run.session, event });
        }
        at = row.position + 1;
      }
    }
    return page;
  }

  /** The row that contains a position. */
  #row({ number, session }: Pick<Share, "number" | "session">, at: number): Row {
    const [row] = this.#sql.row(number, at);
    const events = row && decodeRow(this.#codec, row.line, { session, position: row.position });
    const first = events?.[0]?.position;
    if (row === undefined || events === undefined || first === undefined || first > at)
      throw damagedAt(session, at, "the event is missing, though the session's entry counts it");
    return { ...row, events };
  }

  /** Removes a session; its name and length stay. */
  remove(session: string, { forks: mode, by, spent }: Parameters<Engine["delete"]>[1]) {
    const sql = this.#sql;
    const { number, revision, isDeleted } = this.known(session);
    if (number === 0) throw notFound(session);
    const deleted = { session, revision, erased: true };
    if (isDeleted) return { ...deleted, forks: [], repeated: true };
    const forks = sql.forksOf(number).map((fork) => ({ ...fork, isDeleted: false }));
    const names = forks.map((fork) => fork.session);
    if (mode !== "copy" && names.length > 0) throw hasForks(session, names);
    // A damaged row refuses the deletion: all is read before anything is written.
    const parts = forks.map((fork) => this.#partOf(fork, number));
    for (const { fork, copied, rows, rest } of parts) {
      for (const { position, row } of rows) sql.addRow(fork.number, position, row);
      sql.copyIds(fork.number, number, copied);
      sql.copySnapshots(fork.number, number, copied);
      sql.relink(rest?.number ?? null, rest?.last ?? null, copied > 0 ? number : null, fork.number);
    }
    sql.removeRows(number);
    sql.removeIds(number);
    sql.removeSnapshots(number);
    sql.bury(by ?? null, spent === undefined ? null : JSON.stringify(spent), number);
    this.#open.delete(number);
    return { ...deleted, forks: names, repeated: false };
  }

  /** What a fork shares with its parent, as its own rows, and where the rest of what it shares begins. */
  #partOf(fork: StoredSession, parent: number) {
    const [, nearest, next] = this.shares(fork);
    // A fork may branch off where the parent is a fork too, and share nothing of the parent's own.
    if (nearest?.number !== parent) return { fork, copied: 0, rows: [], rest: nearest };
    const rows: EventRow[] = [];
    for (let at = nearest.first; at <= nearest.last;) {
      const { events } = this.#row(nearest, at);
      const kept = events.filter(({ position }) => position >= at && position <= nearest.last);
      rows.push(...encodedRows(this.#codec, fork.session, at - 1, kept));
      at += kept.length;
    }
    return { fork, copied: nearest.last, rows, rest: next };
  }

  /** The last global position. */
  end(): number {
    return this.#sql.lastRun()[0]?.position ?? 0;
  }

  /** Drops what may not be in the tables. */
  forget(): void {
    this.#open.clear();
  }
}
