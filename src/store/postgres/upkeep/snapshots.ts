/** Snapshots: a cache. One that cannot be read counts as missing. Those over all sessions have the number 0. */

import { z } from "zod";
import type { Snapshot } from "../../../events/index.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import { parsedSnapshot } from "../../log-rules/snapshot-rows.ts";
import { parseRows, type Sql } from "../database/rows.ts";
import type { StoredSession } from "../heads/stored-sessions.ts";
import { ancestors } from "../read/span.ts";

const rowSchema = z.object({ snapshot: z.string() });
const ownedSchema = rowSchema.extend({ id: z.string() });
export async function saveSnapshot(
  sql: Sql,
  schema: string,
  session: string,
  { number, isDeleted }: StoredSession,
  snapshot: Snapshot,
): Promise<void> {
  if (isDeleted) throw deletedError(session);
  // No session, no state.
  if (number === 0 && session !== "") return;
  // JSON writes no character that a text of PostgreSQL cannot hold.
  await sql.query(
    `INSERT INTO ${schema}.snapshots (session, projection, position, snapshot) VALUES ($1, $2, $3, $4)
     ON CONFLICT (session, projection) DO UPDATE SET position = $3, snapshot = $4
     WHERE snapshots.session <> 0 OR snapshots.position <= $3`,
    [number, JSON.stringify(snapshot.projection), snapshot.position, JSON.stringify(snapshot)],
  );
}

/** The newest one of the session or of what it shares, that no event is missing of. */
export async function loadSnapshot(
  sql: Sql,
  schema: string,
  session: string,
  stored: StoredSession,
  projection: string,
): Promise<Snapshot | undefined> {
  const ranges =
    session === ""
      ? [{ number: 0, to: Number.MAX_SAFE_INTEGER }]
      : await ancestors(sql, schema, { session, ...stored }, stored.revision);
  const rows = parseRows(
    rowSchema,
    await sql.query(
      `SELECT n.snapshot FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS r (number, last, depth)
       JOIN ${schema}.snapshots n ON n.session = r.number AND n.position <= r.last
       WHERE n.projection = $3 ORDER BY r.depth LIMIT 1`,
      [ranges.map(({ number }) => number), ranges.map(({ to }) => to), JSON.stringify(projection)],
    ),
  );
  const [row] = rows;
  return row === undefined ? undefined : parsedSnapshot(row.snapshot);
}

/** Those stored under the names of several sessions, in their order. */
export async function loadSnapshots(
  sql: Sql,
  schema: string,
  sessions: readonly string[],
  projection: string,
): Promise<readonly (Snapshot | undefined)[]> {
  const rows = parseRows(
    ownedSchema,
    await sql.query(
      `SELECT s.id, n.snapshot FROM ${schema}.sessions s JOIN ${schema}.snapshots n ON n.session = s.number
       WHERE s.id = ANY($1::text[]) AND n.projection = $2`,
      [sessions, JSON.stringify(projection)],
    ),
  );
  const found = new Map(rows.map(({ id, snapshot }) => [id, parsedSnapshot(snapshot)]));
  return sessions.map((session) => found.get(session));
}
