/** The sessions in which a session's events are stored: itself, and for a fork those that it branches off. */

import { z } from "zod";
import type { ForkPoint } from "../../../events/index.ts";
import { databaseFailure } from "../database/failures.ts";
import { parseRows, position } from "../database/rows.ts";
import type { Sql } from "../database/sql.ts";

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
