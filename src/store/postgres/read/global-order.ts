/** Reads the events of all sessions in global order, up to the horizon: nothing before it is still being committed. */

import { z } from "zod";
import type { GlobalEvent, SessionEvent } from "../../../events/index.ts";
import { decodeRow } from "../../event-rows/index.ts";
import { damagedAt } from "../../log-rules/index.ts";
import { databaseFailure, parseRows, position, type Sql } from "../database/index.ts";
import type { RowSource } from "./span.ts";

const horizonSchema = z.object({ horizon: position });
const runSchema = z.object({ position, session: position, first: position, count: position });
const storedSchema = z.object({
  number: position,
  id: z.string(),
  is_deleted: z.boolean(),
  rows: z.array(z.tuple([position, z.string()])).nullable(),
});
type Run = z.infer<typeof runSchema>;

export async function horizon(sql: Sql, schema: string): Promise<number> {
  try {
    const rows = await sql.query(`SELECT ${schema}.horizon() AS horizon`);
    return parseRows(horizonSchema, rows)[0]?.horizon ?? 0;
  } catch (error) {
    throw databaseFailure(error, "Reading all sessions");
  }
}

/** Leaves out deleted sessions. @throws TurnlogError `LOG_DAMAGED` and what the codec throws */
export async function* readGlobal(
  source: RowSource,
  from: number,
  to: number,
): AsyncGenerator<GlobalEvent> {
  let next = from;
  while (next <= to) {
    const runs = await nextRuns(source, next, to);
    const stored = await storedEvents(source, runs);
    for (const { position: global, session: number, first, count } of runs) {
      next = global + count;
      const events = stored.get(number);
      if (events === undefined) continue;
      for (let index = 0; index < count; index++) {
        const event = events.at.get(first + index);
        if (event === undefined)
          throw damagedAt(
            events.session,
            first + index,
            "the event is missing, though the global order names it",
          );
        yield { position: global + index, session: events.session, event };
      }
    }
    if (runs.length === 0) return;
  }
}

async function nextRuns(
  { sql, schema }: RowSource,
  from: number,
  to: number,
): Promise<readonly Run[]> {
  try {
    const rows = await sql.query(`SELECT * FROM ${schema}.runs_from($1, $2)`, [from, to]);
    return parseRows(runSchema, rows);
  } catch (error) {
    throw databaseFailure(error, "Reading all sessions");
  }
}

interface StoredEvents {
  readonly session: string;
  readonly at: ReadonlyMap<number, SessionEvent>;
}

/** The events of runs by session, each row once: many runs may be parts of one row. None of deleted sessions. */
async function storedEvents(
  { sql, schema, codec }: RowSource,
  runs: readonly Run[],
): Promise<ReadonlyMap<number, StoredEvents>> {
  const sessions = [...Map.groupBy(runs, ({ session }) => session)].map(([number, parts]) => ({
    number,
    first: Math.min(...parts.map(({ first }) => first)),
    last: Math.max(...parts.map(({ first, count }) => first + count - 1)),
  }));
  if (sessions.length === 0) return new Map();
  let rows: readonly unknown[];
  try {
    rows = await sql.query(
      `SELECT s.number, s.id, s.is_deleted, e.rows
       FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r (session, first, last)
       JOIN ${schema}.sessions s ON s.number = r.session
       LEFT JOIN LATERAL (
         SELECT json_agg(json_build_array(position, line) ORDER BY position) AS rows
         FROM ${schema}.events
         WHERE session = r.session AND position >= r.first AND position <= (
           SELECT min(position) FROM ${schema}.events WHERE session = r.session AND position >= r.last)
       ) e ON true`,
      [
        sessions.map(({ number }) => number),
        sessions.map(({ first }) => first),
        sessions.map(({ last }) => last),
      ],
    );
  } catch (error) {
    throw databaseFailure(error, "Reading all sessions");
  }
  const found = new Map<number, StoredEvents>();
  for (const { number, id, is_deleted, rows: lines } of parseRows(storedSchema, rows)) {
    if (is_deleted) continue;
    const at = new Map<number, SessionEvent>();
    for (const [last, line] of lines ?? [])
      for (const event of decodeRow(codec, line, { session: id, position: last }))
        at.set(event.position, event);
    found.set(number, { session: id, at });
  }
  return found;
}
