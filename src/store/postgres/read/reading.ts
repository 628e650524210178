/** Reads a session by position, wherever its events are stored, up to the last committed one. */

import { z } from "zod";
import type { Codec, ForkPoint, ReadRange, SessionEvent } from "../../../events/index.ts";
import { decodeRow } from "../../event-rows/index.ts";
import { dueEvents, missingEvent, spanOf } from "../../log-rules/reading-rules.ts";
import { deletedError, inSession } from "../../log-rules/log-errors.ts";
import { position, type Statements } from "../database/statements.ts";
import type { Heads, StoredSession } from "../heads/heads.ts";

export interface ReadingOptions {
  readonly source: RowSource;
  readonly heads: Heads;
}

const foundSchema = z.object({ asked: position, position, line: z.string(), owner: z.string() });

export class Reading {
  readonly #options: ReadingOptions;

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  /** @throws TurnlogError as `EventLog.read` */
  async *read(session: string, range: ReadRange): AsyncGenerator<SessionEvent> {
    const stored = await this.#options.heads.stored(session);
    yield* this.#span(session, stored, spanOf(range, stored.revision));
  }

  /** @throws TurnlogError as `EventLog.readAt` */
  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    const { source, heads } = this.#options;
    const stored = await heads.stored(session);
    const asked = positions.filter((at) => at >= 1 && at <= stored.revision);
    if (asked.length === 0) return [];
    const { sql, codec } = source;
    const ranges = await ancestors(sql, { session, ...stored }, stored.revision);
    const rows = await sql.rows(foundSchema, `Reading session ${session}`)`
      SELECT a.position AS asked, e.position, e.line, r.owner
      FROM unnest(${[...new Set(asked)]}::bigint[]) AS a (position)
      JOIN unnest(
        ${ranges.map(({ owner }) => owner)}::text[], ${ranges.map(({ number }) => number)}::bigint[],
        ${ranges.map(({ from }) => from)}::bigint[], ${ranges.map(({ to }) => to)}::bigint[]
      ) AS r (owner, number, first, last) ON a.position BETWEEN r.first AND r.last
      JOIN LATERAL (
        SELECT position, line FROM turnlog.events
        WHERE session = r.number AND position >= a.position ORDER BY position LIMIT 1
      ) e ON true`;
    const found = new Map<number, SessionEvent>();
    for (const row of rows) {
      const events = decodeRow(codec, row.line, { session: row.owner, position: row.position });
      const event = events[row.asked - row.position + events.length - 1];
      if (event !== undefined) found.set(row.asked, event);
    }
    return asked.flatMap((at) => found.get(at) ?? []);
  }

  async *#span(
    session: string,
    stored: StoredSession,
    { from, to, backwards }: ReturnType<typeof spanOf>,
  ): AsyncGenerator<SessionEvent> {
    const { source, heads } = this.#options;
    let rest = { from, to };
    let known = stored;
    while (rest.from <= rest.to) {
      const ranges = await ancestors(source.sql, { session, ...known }, rest.to);
      const line = backwards ? ranges : ranges.toReversed();
      try {
        for (const range of line) {
          const part = {
            ...range,
            from: Math.max(rest.from, range.from),
            to: Math.min(rest.to, range.to),
          };
          for await (const event of readSpan(source, part, backwards)) {
            yield event;
            const { position: at } = event;
            rest = backwards ? { ...rest, to: at - 1 } : { ...rest, from: at + 1 };
          }
        }
        return;
      } catch (error) {
        const now = await heads.stored(session);
        if (now.isDeleted) throw deletedError(session);
        // A session whose events this one shared has been deleted in the meantime: they have been copied
        // elsewhere.
        const hasMoved = now.link?.session !== known.link?.session;
        if (!hasMoved) throw inSession(session, error);
        known = now;
      }
    }
  }
}

// Events of one owner's rows, page by page, in either direction. Never yields an event past a gap.

export interface RowSource {
  readonly sql: Statements;
  readonly codec: Codec;
}

const rowSchema = z.object({ position, line: z.string() });

/** Rows of a page; after a page of few or many bytes the next one has more or fewer. */
const FIRST_PAGE = 64;
const LARGEST_PAGE = 1024;
const PAGE_BYTES = 1024 * 1024;

/** @throws TurnlogError `LOG_DAMAGED` and what the codec throws */
export async function* readSpan(
  { sql, codec }: RowSource,
  { owner, number, from, to }: OwnedRange,
  backwards: boolean,
): AsyncGenerator<SessionEvent> {
  if (from > to) return;
  const step = backwards ? -1 : 1;
  const end = (backwards ? from : to) + step;
  let next = backwards ? to : from;
  let limit = FIRST_PAGE;
  while (next !== end) {
    const page = sql.rows(rowSchema, `Reading session ${owner}`);
    const count = Math.min(limit, Math.abs(end - next));
    // A row holds the positions up to its own, so the first row from a position on contains it.
    const rows = await (backwards
      ? page`SELECT position, line FROM turnlog.events WHERE session = ${number} AND position <= (
          SELECT min(position) FROM turnlog.events WHERE session = ${number} AND position >= ${next}
        ) ORDER BY position DESC LIMIT ${count}`
      : page`SELECT position, line FROM turnlog.events WHERE session = ${number} AND position >= ${next}
          ORDER BY position LIMIT ${count}`);
    if (rows.length === 0) throw missingEvent(owner, next);
    let size = 0;
    for (const { position: last, line } of rows) {
      if (next === end) return;
      size += line.length;
      const events = decodeRow(codec, line, { session: owner, position: last });
      const due = dueEvents(owner, events, next, end - step);
      yield* due;
      next += step * due.length;
    }
    limit = size > PAGE_BYTES ? Math.max(1, limit >> 1) : Math.min(LARGEST_PAGE, limit << 1);
  }
}

// The sessions in which a session's events are stored: itself, and for a fork those that it branches off.

/** Events of a session that are stored under one name, both ends included. */
export interface OwnedRange {
  readonly owner: string;
  readonly number: number;
  readonly from: number;
  readonly to: number;
}

const ancestorSchema = z.object({
  owner: z.string(),
  number: position,
  from: position,
  to: position,
});

/** Newest first, up to `to`. A session that is not stored yet has the ranges of its link. */
export async function ancestors(
  sql: Statements,
  { session, number, link }: Known,
  to: number,
): Promise<readonly OwnedRange[]> {
  const own: OwnedRange = { owner: session, number, from: (link?.position ?? 0) + 1, to };
  if (link === undefined) return [own];
  const rows = await sql.rows(ancestorSchema, `Reading session ${session}`)`
    WITH RECURSIVE line AS (
      SELECT id, number, parent, parent_position, ${Math.min(to, link.position)}::bigint AS last, 1 AS depth
      FROM turnlog.sessions WHERE id = ${link.session}
      UNION ALL
      SELECT s.id, s.number, s.parent, s.parent_position, least(line.last, line.parent_position), depth + 1
      FROM turnlog.sessions s JOIN line ON s.id = line.parent WHERE depth < 10000
    ) SELECT id AS owner, number, coalesce(parent_position, 0) + 1 AS from, last AS to FROM line ORDER BY depth`;
  return [own, ...rows];
}

interface Known {
  readonly session: string;
  readonly number: number;
  readonly link: ForkPoint | undefined;
}
