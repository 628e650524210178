/**
 * Deletes a session in one transaction: rows, ids, snapshots and the content of commands go, its name and length stay
 * as a tombstone.
 */

import { z } from "zod";
import type { Codec, Deleted, DeleteOptions } from "../../../events/index.ts";
import type { EventRow } from "../../event-rows/index.ts";
import { copiedRows, missingEvent } from "../../log-rules/reading-rules.ts";
import { checkDeletion } from "../../log-rules/append-rules.ts";
import { damagedAt, deletedError } from "../../log-rules/log-errors.ts";
import { position, type Statements } from "../database/statements.ts";
import { linkOf } from "../heads/heads.ts";
import { ancestors, type OwnedRange } from "../read/reading.ts";

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
  sql: Statements,
  codec: Codec,
  session: string,
  { forks = "refuse", by, spent }: DeleteOptions,
): Promise<Deleted> {
  const [stored] = await sql.rows(sessionSchema)`
    SELECT number, revision, is_deleted FROM turnlog.sessions WHERE id = ${session} FOR UPDATE`;
  const { number, revision, is_deleted } = stored ?? { number: 0, revision: 0, is_deleted: false };
  const deleted = { session, revision, erased: true };
  if (is_deleted) return { ...deleted, forks: [], repeated: true };
  const children = await sql.rows(forkSchema)`
    SELECT id, number, parent, parent_position FROM turnlog.sessions
    WHERE parent = ${session} AND NOT is_deleted ORDER BY id FOR UPDATE`;
  const names = children.map(({ id }) => id);
  checkDeletion({ session, revision }, names, forks);
  for (const child of children) await makeIndependent(sql, codec, child);
  await sql.run()`DELETE FROM turnlog.events WHERE session = ${number}`;
  await sql.run()`DELETE FROM turnlog.event_ids WHERE session = ${number}`;
  await sql.run()`DELETE FROM turnlog.snapshots WHERE session = ${number}`;
  // The rows stay for those who wait: a command without an answer is refused by whatever process sees it.
  const { code, message } = deletedError(session);
  const answer = JSON.stringify({ error: { code, message } });
  await sql.run()`UPDATE turnlog.commands
    SET args = '[]', answer = CASE WHEN answer IS NOT NULL THEN ${answer} END WHERE session = ${session}`;
  const told = spent === undefined ? null : JSON.stringify(spent);
  await sql.run()`UPDATE turnlog.sessions
    SET is_deleted = true, deleted_by = ${by ?? null}, spent = ${told}, parent = NULL, parent_position = NULL
    WHERE number = ${number}`;
  return { ...deleted, forks: names, repeated: false };
}

/** Copies what a fork shares with its parent. What the parent itself shares stays shared. */
async function makeIndependent(
  sql: Statements,
  codec: Codec,
  fork: z.infer<typeof forkSchema>,
): Promise<void> {
  const known = { session: fork.id, number: fork.number, link: linkOf(fork) };
  const [, ...older] = await ancestors(sql, known, fork.parent_position);
  // A fork at a position that its parent shares too has nothing of the parent's own.
  const index = older.findIndex(({ from, to }) => from <= to);
  const owned = older[index];
  if (owned === undefined) throw damagedAt(fork.id, 0, "it branches off nothing");
  const before = older[index + 1];
  await copyRows(sql, codec, fork, owned);
  await sql.run()`INSERT INTO turnlog.event_ids (session, id, position, global_position)
    SELECT ${fork.number}, id, position, global_position FROM turnlog.event_ids
    WHERE session = ${owned.number} AND position <= ${owned.to}`;
  await sql.run()`INSERT INTO turnlog.snapshots (session, projection, position, snapshot)
    SELECT ${fork.number}, projection, position, snapshot FROM turnlog.snapshots
    WHERE session = ${owned.number} AND position <= ${owned.to} ON CONFLICT DO NOTHING`;
  await sql.run()`UPDATE turnlog.sessions
    SET parent = ${before?.owner ?? null}, parent_position = ${before === undefined ? null : owned.from - 1},
      created_at = (SELECT created_at FROM turnlog.sessions WHERE number = ${owned.number})
    WHERE number = ${fork.number}`;
}

const PAGE = 500;

/** The rows under the fork's name. A run that continues behind the shared events is cut. */
async function copyRows(
  sql: Statements,
  codec: Codec,
  fork: { readonly id: string; readonly number: number },
  { owner, number, from, to }: OwnedRange,
): Promise<void> {
  for (let next = from; next <= to;) {
    const rows = await sql.rows(rowSchema)`SELECT position, line FROM turnlog.events
      WHERE session = ${number} AND position >= ${next} ORDER BY position LIMIT ${PAGE}`;
    const copies: Pick<EventRow, "position" | "row">[] = [];
    for (const { position: last, line } of rows) {
      if (next > to) break;
      const key = { session: owner, position: last };
      copies.push(...copiedRows(codec, key, line, fork.id, next, to));
      next = last + 1;
    }
    if (copies.length === 0) throw missingEvent(owner, next);
    await sql.run()`INSERT INTO turnlog.events (session, position, line)
      SELECT ${fork.number}, p.position, l.line
      FROM unnest(${copies.map((copy) => copy.position)}::bigint[]) WITH ORDINALITY AS p (position, n)
      JOIN string_to_table(${copies.map(({ row }) => row).join("\n")}, E'\\n') WITH ORDINALITY AS l (line, n) USING (n)`;
  }
}
