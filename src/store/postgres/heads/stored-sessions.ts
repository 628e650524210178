/** Reads the entries of sessions. */

import { z } from "zod";
import type { ForkPoint } from "../../../events/index.ts";
import { parseRows, position } from "../database/rows.ts";
import type { Sql } from "../database/sql.ts";
import type { StoredSession } from "./head.ts";

const sessionSchema = z.object({
  id: z.string(),
  number: position,
  revision: position,
  parent: z.string().nullable(),
  parent_position: position.nullable(),
  is_deleted: z.boolean(),
  epoch: position,
});

export const unknownSession: StoredSession = {
  number: 0,
  revision: 0,
  link: undefined,
  isDeleted: false,
  epoch: 0,
};

export async function storedSessions(
  sql: Sql,
  schema: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredSession>> {
  const rows = await sql.query(
    `SELECT id, number, revision, parent, parent_position, is_deleted, epoch FROM ${schema}.sessions WHERE id = ANY ($1)`,
    [ids],
  );
  return new Map(
    parseRows(sessionSchema, rows).map(({ id, number, revision, is_deleted, epoch, ...parent }) => {
      const stored = { number, epoch, isDeleted: is_deleted, link: linkOf(parent) };
      return [id, { ...stored, revision: is_deleted ? 0 : revision }];
    }),
  );
}

interface Parent {
  readonly parent: string | null;
  readonly parent_position: number | null;
}

export function linkOf({ parent, parent_position }: Parent): ForkPoint | undefined {
  if (parent === null || parent_position === null) return undefined;
  return { session: parent, position: parent_position };
}
