/** The list of sessions, and of deleted ones, page by page. */

import { z } from "zod";
import {
  defined,
  jsonSchema,
  type DeletedSession,
  type SessionEntry,
} from "../../../events/index.ts";
import { position, type Statements } from "../database/statements.ts";
import { linkOf } from "../heads/heads.ts";

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
export async function* listSessions(sql: Statements, prefix: string): AsyncGenerator<SessionEntry> {
  for await (const row of pages(sql, prefix, false)) {
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

export async function* deletedSessions(sql: Statements): AsyncGenerator<DeletedSession> {
  for await (const { id: session, revision, deleted_by, spent } of pages(sql, "", true)) {
    const told = defined({ by: deleted_by ?? undefined });
    if (spent === null) yield { session, revision, ...told };
    else yield { session, revision, ...told, spent: jsonSchema.parse(JSON.parse(spent)) };
  }
}

async function* pages(
  sql: Statements,
  prefix: string,
  isDeleted: boolean,
): AsyncGenerator<z.infer<typeof entrySchema>> {
  let after = "";
  for (;;) {
    const rows = await sql.rows(entrySchema, "Listing sessions")`
      SELECT id, revision, created_at, updated_at, parent, parent_position, deleted_by, spent FROM turnlog.sessions
      WHERE id > ${after} AND starts_with(id, ${prefix}) AND is_deleted = ${isDeleted} AND revision > 0
      ORDER BY id LIMIT ${PAGE}`;
    yield* rows;
    after = rows.at(-1)?.id ?? "";
    if (rows.length < PAGE) return;
  }
}
