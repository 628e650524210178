/** The positions that consumers have reached, one row for each name. */

import { z } from "zod";
import type { CursorStore } from "../../../events/index.ts";
import { check, name } from "../../../validation/index.ts";
import { cursorPositionSchema } from "../../log-rules/call-schemas.ts";
import { databaseFailure } from "../database/failures.ts";
import { parseRows, position } from "../database/rows.ts";
import type { Sql } from "../database/sql.ts";

const cursorSchema = z.object({ position });

export function postgresCursors(sql: Sql, schema: string, assertOpen: () => void): CursorStore {
  const failed = (error: unknown): never => {
    throw databaseFailure(error, "The position of a consumer");
  };
  // Connections do not keep the order of calls.
  let saving: Promise<unknown> = Promise.resolve();
  return {
    async load(consumer) {
      assertOpen();
      const rows = await sql
        .query(`SELECT position FROM ${schema}.cursors WHERE name = $1`, [Buffer.from(consumer)])
        .catch(failed);
      return parseRows(cursorSchema, rows)[0]?.position;
    },
    async save(consumer, reached) {
      assertOpen();
      check(name, consumer, "cursors.save", { name: "name" });
      check(cursorPositionSchema, reached, "cursors.save", { name: "position" });
      const saved = saving.then(() =>
        sql.query(
          `INSERT INTO ${schema}.cursors (name, position) VALUES ($1, $2)
           ON CONFLICT (name) DO UPDATE SET position = $2`,
          [Buffer.from(consumer), reached],
        ),
      );
      saving = saved.catch(() => {});
      await saved.catch(failed);
    },
  };
}
