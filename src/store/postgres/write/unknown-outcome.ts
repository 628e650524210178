/**
 * Finds out whether a batch was committed whose connection broke. The row lock waits for an append that
 * is still under way; then the session's newest row is ours or it is not.
 */

import { z } from "zod";
import { parseRows, position, type SqlPool } from "../database/rows.ts";
import { newestRow, type CompleteShare } from "./batch.ts";

const foundSchema = z.object({ number: position, line: z.string() });
const globalSchema = z.object({ global: position });

/** The global position of the share's first event; undefined if nothing of it was committed. */
export async function isCommitted(
  pool: SqlPool,
  schema: string,
  share: CompleteShare,
): Promise<number | undefined> {
  const { head, base, revision } = share;
  return await pool.transaction(async (sql) => {
    await sql.query(`SELECT 1 FROM ${schema}.sessions WHERE id = $1 FOR NO KEY UPDATE`, [
      head.session,
    ]);
    const [found] = parseRows(
      foundSchema,
      await sql.query(
        `SELECT s.number, e.line FROM ${schema}.sessions s
         JOIN ${schema}.events e ON e.session = s.number AND e.position = $2
         WHERE s.id = $1 AND NOT s.is_deleted`,
        [head.session, revision],
      ),
    );
    if (found === undefined || found.line !== newestRow(share)?.row) return undefined;
    // Newest first: it was written a moment ago.
    const [run] = parseRows(
      globalSchema,
      await sql.query(
        `SELECT r.position + $2 - r.first AS global
         FROM ${schema}.batches b, LATERAL ${schema}.runs_in(b.position, b.shares) r
         WHERE r.session = $1 AND r.first <= $2 AND r.first + r.count > $2
         ORDER BY b.position DESC LIMIT 1`,
        [found.number, base + 1],
      ),
    );
    return run?.global;
  });
}
