/**
 * Finds out whether a batch was committed whose connection broke. The row lock waits for an append that
 * is still under way; then the session's newest row is ours or it is not.
 */

import { z } from "zod";
import { parseRows, position, type SqlPool } from "../database/index.ts";
import type { SessionShare } from "./batch.ts";

const foundSchema = z.object({ line: z.string(), global: position });

/** The global position of the share's first event; undefined if nothing of it was committed. */
export async function isCommitted(
  pool: SqlPool,
  schema: string,
  session: string,
  { rows, base, revision }: SessionShare,
): Promise<number | undefined> {
  return await pool.transaction(async (sql) => {
    await sql.query(`SELECT 1 FROM ${schema}.sessions WHERE id = $1 FOR NO KEY UPDATE`, [session]);
    const [found] = parseRows(
      foundSchema,
      await sql.query(
        `SELECT e.line, r.position + $2 - r.first - ($2 - $3 - 1) AS global
         FROM ${schema}.sessions s
         JOIN ${schema}.events e ON e.session = s.number AND e.position = $2
         JOIN ${schema}.runs r ON r.session = s.number AND r.first <= $2 AND r.first + r.count > $2
         WHERE s.id = $1 AND NOT s.is_deleted`,
        [session, revision, base],
      ),
    );
    return found?.line === rows.get(revision) ? found?.global : undefined;
  });
}
