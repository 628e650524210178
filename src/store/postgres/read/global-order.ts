/** Reads the events of all sessions in global order, up to the horizon: nothing before it is still being committed. */

import { z } from "zod";
import type { GlobalEvent } from "../../../events/index.ts";
import { decodeRow } from "../../event-rows/index.ts";
import { damagedAt } from "../../log-rules/index.ts";
import { databaseFailure, parseRows, position, type Sql } from "../database/index.ts";
import type { RowSource } from "./span.ts";

const PAGE = 256;

const horizonSchema = z.object({ horizon: position });
const runSchema = z.object({
  global: position,
  first: position,
  count: position,
  session: z.string(),
  rows: z.array(z.tuple([position, z.string()])).nullable(),
  is_deleted: z.boolean(),
});

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
  { sql, schema, codec }: RowSource,
  from: number,
  to: number,
): AsyncGenerator<GlobalEvent> {
  let next = from;
  while (next <= to) {
    const page = await runs(sql, schema, next, to);
    for (const { global, first, count, session, rows, is_deleted } of page) {
      const last = global + count - 1;
      let due = Math.max(next, global);
      for (const [rowPosition, line] of is_deleted ? [] : (rows ?? [])) {
        const events = decodeRow(codec, line, { session, position: rowPosition });
        for (const event of events) {
          const at = global + event.position - first;
          if (at !== due || at > last) continue;
          yield { position: at, session, event };
          due++;
        }
      }
      if (!is_deleted && due <= last)
        throw damagedAt(
          session,
          first + due - global,
          "the event is missing, though the global order names it",
        );
      next = last + 1;
    }
    if (page.length < PAGE) return;
  }
}

/** Whole runs from the one that contains `from` on, with the rows of their events. */
async function runs(
  sql: Sql,
  schema: string,
  from: number,
  to: number,
): Promise<readonly z.infer<typeof runSchema>[]> {
  try {
    return parseRows(
      runSchema,
      await sql.query(
        `SELECT r.position AS global, r.first, r.count, s.id AS session, s.is_deleted, e.rows
         FROM (
           SELECT * FROM ${schema}.runs
           WHERE position <= $2 AND position >= coalesce(
             (SELECT max(position) FROM ${schema}.runs WHERE position <= $1), $1)
             AND position + count > $1
           ORDER BY position LIMIT ${PAGE}
         ) r
         JOIN ${schema}.sessions s ON s.number = r.session
         LEFT JOIN LATERAL (
           SELECT json_agg(json_build_array(position, line) ORDER BY position) AS rows
           FROM ${schema}.events
           WHERE session = r.session AND position >= r.first AND position <= (
             SELECT min(position) FROM ${schema}.events
             WHERE session = r.session AND position >= r.first + r.count - 1)
         ) e ON true
         ORDER BY r.position`,
        [from, to],
      ),
    );
  } catch (error) {
    throw databaseFailure(error, "Reading all sessions");
  }
}
