/** Reads the events of all sessions in global order, up to the horizon: nothing before it is still being committed. */

import { z } from "zod";
import type { GlobalEvent, SessionEvent } from "../../../events/index.ts";
import { decodeRow } from "../../event-rows/index.ts";
import { damagedAt } from "../../log-rules/log-errors.ts";
import { position, type Statements } from "../database/statements.ts";
import type { RowSource } from "./reading.ts";

const horizonSchema = z.object({ horizon: position });
/** A session's part of a page: `runs` are events that follow each other in the global order. */
const partSchema = z.object({
  id: z.string().nullable(),
  is_deleted: z.boolean().nullable(),
  /** Global position, first position in the session, and the number of events. */
  runs: z.array(z.tuple([position, position, position])),
  rows: z.array(z.tuple([position, z.string()])).nullable(),
});
type Part = z.infer<typeof partSchema>;

const DOING = "Reading all sessions";

export async function horizon(sql: Statements): Promise<number> {
  const [found] = await sql.rows(horizonSchema, DOING)`SELECT turnlog.horizon() AS horizon`;
  return found?.horizon ?? 0;
}

/** Leaves out deleted sessions. @throws TurnlogError `LOG_DAMAGED` and what the codec throws */
export async function* readGlobal(
  source: RowSource,
  from: number,
  to: number,
): AsyncGenerator<GlobalEvent> {
  let next = from;
  while (next <= to) {
    const parts = await nextParts(source, next, to);
    if (parts.length === 0) return;
    const runs = parts.flatMap((part) => {
      const events = storedEvents(source, part);
      return part.runs.map(([global, first, count]) => ({ global, first, count, events }));
    });
    for (const { global, first, count, events } of runs.toSorted((a, b) => a.global - b.global)) {
      next = global + count;
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
  }
}

/**
 * One statement: a follower of another process waits for it. A row comes once, though many runs may be parts of it.
 * PostgreSQL takes an array for ten rows, and a function for a thousand, for which it would compile the statement.
 */
async function nextParts({ sql }: RowSource, from: number, to: number): Promise<readonly Part[]> {
  return await sql.rows(partSchema, DOING)`
    SELECT s.id, s.is_deleted, r.runs, e.rows
    FROM (
      SELECT array_agg(session) AS sessions, array_agg(first) AS firsts, array_agg(last) AS lasts, array_agg(runs) AS parts
      FROM (
        SELECT session, min(first) AS first, max(first + count - 1) AS last,
          json_agg(json_build_array(position, first, count)) AS runs
        FROM turnlog.runs_from(${from}, ${to}) GROUP BY session
      ) g
    ) a, unnest(a.sessions, a.firsts, a.lasts, a.parts) AS r (session, first, last, runs)
    LEFT JOIN turnlog.sessions s ON s.number = r.session
    LEFT JOIN LATERAL (
      SELECT json_agg(json_build_array(position, line) ORDER BY position) AS rows
      FROM turnlog.events
      WHERE session = r.session AND position >= r.first AND position <= (
        SELECT min(position) FROM turnlog.events WHERE session = r.session AND position >= r.last)
    ) e ON true`;
}

interface StoredEvents {
  readonly session: string;
  readonly at: ReadonlyMap<number, SessionEvent>;
}

/** Undefined for a deleted session. */
function storedEvents(
  { codec }: RowSource,
  { id, is_deleted, rows }: Part,
): StoredEvents | undefined {
  if (id === null || is_deleted === true) return undefined;
  const at = new Map<number, SessionEvent>();
  for (const [last, line] of rows ?? [])
    for (const event of decodeRow(codec, line, { session: id, position: last }))
      at.set(event.position, event);
  return { session: id, at };
}
