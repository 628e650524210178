/** The list of sessions, and of deleted ones, page by page. */

import { z } from "zod";
import {
  defined,
  jsonSchema,
  type DeletedSession,
  type SessionEntry,
} from "../../../events/index.ts";
import { databaseFailure } from "../database/failures.ts";
import { parseRows, position, type Sql } from "../database/rows.ts";
import { linkOf } from "../heads/stored-sessions.ts";

const PAGE = 500;

const entrySchema = z.object({
  id: z.string(),
  revision: position,
  created_at: z.number(),
  updated_at: z.number(),
  parent: z.string().nullable(),
  parent_position: position.nullable(),
  deleted_by: z.string().nullable(),
  spent: z.string().nullable(),
});

/** By name, in the order of their characters. */
export async function* listSessions(
  sql: Sql,
  schema: string,
  prefix: string,
): AsyncGenerator<SessionEntry> {
  for await (const row of pages(sql, schema, prefix, false)) {
    const forkedFrom = linkOf(row);
    yield {
      session: row.id,
      revision: row.revision,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      ...(forkedFrom === undefined ? {} : { forkedFrom }),
    };
  }
}

export async function* deletedSessions(sql: Sql, schema: string): AsyncGenerator<DeletedSession> {
  for await (const { id: session, revision, deleted_by, spent } of pages(sql, schema, "", true)) {
    const told = defined({ by: deleted_by ?? undefined });
    if (spent === null) yield { session, revision, ...told };
    else yield { session, revision, ...told, spent: jsonSchema.parse(JSON.parse(spent)) };
  }
}

async function* pages(
  sql: Sql,
  schema: string,
  prefix: string,
  isDeleted: boolean,
): AsyncGenerator<z.infer<typeof entrySchema>> {
  let after = "";
  for (;;) {
    let rows: readonly z.infer<typeof entrySchema>[];
    try {
      rows = parseRows(
        entrySchema,
        await sql.query(
          `SELECT id, revision, created_at, updated_at, parent, parent_position, deleted_by, spent FROM ${schema}.sessions
           WHERE id > $1 AND starts_with(id, $2) AND is_deleted = $3 AND revision > 0
           ORDER BY id LIMIT ${PAGE}`,
          [after, prefix, isDeleted],
        ),
      );
    } catch (error) {
      throw databaseFailure(error, "Listing sessions");
    }
    yield* rows;
    after = rows.at(-1)?.id ?? "";
    if (rows.length < PAGE) return;
  }
}
