/**
 * Deletes a session in one transaction: rows, ids, snapshots and the content of commands go, its name and length stay
 * as a tombstone.
 */

import { z } from "zod";
import type { Codec, Deleted, DeleteOptions } from "../../../events/index.ts";
import type { EventRow } from "../../event-rows/index.ts";
import { copiedRows, missingEvent } from "../../log-rules/reading-rules.ts";
import { damagedAt, deletedError, hasForks, notFound } from "../../log-rules/log-errors.ts";
import { parseRows, position, type Sql } from "../database/rows.ts";
import { linkOf } from "../heads/stored-sessions.ts";
import { ancestors, type OwnedRange } from "../read/span.ts";

const sessionSchema = z.object({
  number: position,
  revision: position,
  is_deleted: z.boolean(),
});
const forkSchema = z.object({
  id: z.string(),
  number: position,
  parent: z.string(),
  parent_position: position,
});
const rowSchema = z.object({ position, line: z.string() });

/** @throws TurnlogError as `EventLog.delete` */
export async function deleteSession(
  sql: Sql,
  schema: string,
  codec: Codec,
  session: string,
  { forks = "refuse", by, spent }: DeleteOptions,
): Promise<Deleted> {
  const [stored] = parseRows(
    sessionSchema,
    await sql.query(
      `SELECT number, revision, is_deleted FROM ${schema}.sessions WHERE id = $1 FOR UPDATE`,
      [session],
    ),
  );
  if (stored === undefined || stored.revision === 0) throw notFound(session);
  const { number, revision } = stored;
  const deleted = { session, revision, erased: true };
  if (stored.is_deleted) return { ...deleted, forks: [], repeated: true };
  const children = parseRows(
    forkSchema,
    await sql.query(
      `SELECT id, number, parent, parent_position FROM ${schema}.sessions
       WHERE parent = $1 AND NOT is_deleted ORDER BY id FOR UPDATE`,
      [session],
    ),
  );
  const names = children.map(({ id }) => id);
  if (forks === "refuse" && names.length > 0) throw hasForks(session, names);
  for (const child of children) await makeIndependent(sql, schema, codec, child);
  for (const table of ["events", "event_ids", "snapshots"])
    await sql.query(`DELETE FROM ${schema}.${table} WHERE session = $1`, [number]);
  // The rows stay for those who wait: a command without an answer is refused by whatever process sees it.
  const { code, message } = deletedError(session);
  await sql.query(
    `UPDATE ${schema}.commands SET args = '[]', answer = CASE WHEN answer IS NOT NULL THEN $2 END WHERE session = $1`,
    [session, JSON.stringify({ error: { code, message } })],
  );
  await sql.query(
    `UPDATE ${schema}.sessions SET is_deleted = true, deleted_by = $2, spent = $3, parent = NULL, parent_position = NULL WHERE number = $1`,
    [number, by ?? null, spent === undefined ? null : JSON.stringify(spent)],
  );
  return { ...deleted, forks: names, repeated: false };
}

/** Copies what a fork shares with its parent. What the parent itself shares stays shared. */
async function makeIndependent(
  sql: Sql,
  schema: string,
  codec: Codec,
  fork: z.infer<typeof forkSchema>,
): Promise<void> {
  const known = { session: fork.id, number: fork.number, link: linkOf(fork) };
  const shared = await ancestors(sql, schema, known, fork.parent_position);
  const [, ...older] = shared;
  // A fork at a position that its parent shares too has nothing of the parent's own.
  const index = older.findIndex(({ from, to }) => from <= to);
  const owned = older[index];
  if (owned === undefined) throw damagedAt(fork.id, 0, "it branches off nothing");
  const before = older[index + 1];
  await copyRows(sql, schema, codec, fork, owned);
  await sql.query(
    `INSERT INTO ${schema}.event_ids (session, id, position, global_position)
     SELECT $1, id, position, global_position FROM ${schema}.event_ids WHERE session = $2 AND position <= $3`,
    [fork.number, owned.number, owned.to],
  );
  await sql.query(
    `INSERT INTO ${schema}.snapshots (session, projection, position, snapshot)
     SELECT $1, projection, position, snapshot FROM ${schema}.snapshots WHERE session = $2 AND position <= $3
     ON CONFLICT DO NOTHING`,
    [fork.number, owned.number, owned.to],
  );
  await sql.query(
    `UPDATE ${schema}.sessions SET parent = $2, parent_position = $3,
       created_at = (SELECT created_at FROM ${schema}.sessions WHERE number = $4) WHERE number = $1`,
    [
      fork.number,
      before?.owner ?? null,
      before === undefined ? null : owned.from - 1,
      owned.number,
    ],
  );
}

const PAGE = 500;

/** The rows under the fork's name. A run that continues behind the shared events is cut. */
async function copyRows(
  sql: Sql,
  schema: string,
  codec: Codec,
  fork: { readonly id: string; readonly number: number },
  { owner, number, from, to }: OwnedRange,
): Promise<void> {
  for (let next = from; next <= to;) {
    const rows = parseRows(
      rowSchema,
      await sql.query(
        `SELECT position, line FROM ${schema}.events WHERE session = $1 AND position >= $2 ORDER BY position LIMIT ${PAGE}`,
        [number, next],
      ),
    );
    const copies: Pick<EventRow, "position" | "row">[] = [];
    for (const { position: last, line } of rows) {
      if (next > to) break;
      const key = { session: owner, position: last };
      copies.push(...copiedRows(codec, key, line, fork.id, next, to));
      next = last + 1;
    }
    if (copies.length === 0) throw missingEvent(owner, next);
    await sql.query(
      `INSERT INTO ${schema}.events (session, position, line)
       SELECT $1, p.position, l.line FROM unnest($2::bigint[]) WITH ORDINALITY AS p (position, n)
       JOIN string_to_table($3, E'\\n') WITH ORDINALITY AS l (line, n) USING (n)`,
      [fork.number, copies.map((copy) => copy.position), copies.map(({ row }) => row).join("\n")],
    );
  }
}
