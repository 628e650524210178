/** Reads events of one owner's rows, page by page, in either direction. Never yields an event past a gap. */

import { z } from "zod";
import type { Codec, SessionEvent, ForkPoint } from "../../../events/index.ts";
import { decodeRow } from "../../event-rows/index.ts";
import { dueEvents, missingEvent } from "../../log-rules/reading-rules.ts";
import { databaseFailure } from "../database/failures.ts";
import { parseRows, position, type Sql } from "../database/rows.ts";

export interface RowSource {
  readonly sql: Sql;
  readonly schema: string;
  readonly codec: Codec;
}

const rowSchema = z.object({ position, line: z.string() });

/** Rows of a page; after a page of few or many bytes the next one has more or fewer. */
const FIRST_PAGE = 64;
const LARGEST_PAGE = 1024;
const PAGE_BYTES = 1024 * 1024;

/** @throws TurnlogError `LOG_DAMAGED` and what the codec throws */
export async function* readSpan(
  { sql, schema, codec }: RowSource,
  { owner, number, from, to }: OwnedRange,
  backwards: boolean,
): AsyncGenerator<SessionEvent> {
  if (from > to) return;
  const step = backwards ? -1 : 1;
  const end = (backwards ? from : to) + step;
  let next = backwards ? to : from;
  let limit = FIRST_PAGE;
  while (next !== end) {
    const rows = await page(sql, backwards ? behind(schema) : ahead(schema), owner, [
      number,
      next,
      Math.min(limit, Math.abs(end - next)),
    ]);
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

async function page(
  sql: Sql,
  text: string,
  session: string,
  values: readonly number[],
): Promise<readonly z.infer<typeof rowSchema>[]> {
  try {
    return parseRows(rowSchema, await sql.query(text, values));
  } catch (error) {
    throw databaseFailure(error, `Reading session ${session}`);
  }
}

/** A row holds the positions up to its own, so the first row from a position on contains it. */
function ahead(schema: string): string {
  return `SELECT position, line FROM ${schema}.events WHERE session = $1 AND position >= $2 ORDER BY position LIMIT $3`;
}

function behind(schema: string): string {
  return `SELECT position, line FROM ${schema}.events WHERE session = $1 AND position <= (
    SELECT min(position) FROM ${schema}.events WHERE session = $1 AND position >= $2
  ) ORDER BY position DESC LIMIT $3`;
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
  id: z.string(),
  number: position,
  parent_position: position.nullable(),
  last: position,
});

/** Newest first, up to `to`. A session that is not stored yet has the ranges of its link. */
export async function ancestors(
  sql: Sql,
  schema: string,
  { session, number, link }: Known,
  to: number,
): Promise<readonly OwnedRange[]> {
  const own: OwnedRange = { owner: session, number, from: (link?.position ?? 0) + 1, to };
  if (link === undefined) return [own];
  const rows = await sql
    .query(
      `WITH RECURSIVE line AS (
         SELECT id, number, parent, parent_position, $2::bigint AS last, 1 AS depth
         FROM ${schema}.sessions WHERE id = $1
         UNION ALL
         SELECT s.id, s.number, s.parent, s.parent_position, least(line.last, line.parent_position), depth + 1
         FROM ${schema}.sessions s JOIN line ON s.id = line.parent WHERE depth < 10000
       ) SELECT id, number, parent_position, last FROM line ORDER BY depth`,
      [link.session, Math.min(to, link.position)],
    )
    .catch((error: unknown) => {
      throw databaseFailure(error, `Reading session ${session}`);
    });
  return [
    own,
    ...parseRows(ancestorSchema, rows).map((row) => ({
      owner: row.id,
      number: row.number,
      from: (row.parent_position ?? 0) + 1,
      to: row.last,
    })),
  ];
}

interface Known {
  readonly session: string;
  readonly number: number;
  readonly link: ForkPoint | undefined;
}
