/** Makes the tables of the log, and says whether a database has them. */

import { z } from "zod";
import { TurnlogError } from "../../../events/index.ts";
import { parseRows, type Sql, type SqlPool } from "./statements.ts";
import { tables } from "./tables.ts";

const foundSchema = z.object({ found: z.boolean() });
const versionSchema = z.object({ version: z.int().nullable() });

/**
 * The version of the tables. Earlier ones belong to no release. A release that changes the tables only adds, so that
 * processes of the release before work on them too.
 */
const VERSION = 6;

/** The SQL that makes the tables, for a database role that may not make them itself. */
export function schemaSql(schema: string): string {
  return `BEGIN;\n${creation(schema)}\nCOMMIT;`;
}

/** Makes the tables, once, whatever number of processes start at the same time. @throws as {@link hasTables} */
export async function createTables(pool: SqlPool, schema: string): Promise<void> {
  if (await hasTables(pool, schema)) return;
  await pool.transaction(async (sql) => {
    await sql.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", [`turnlog ${schema}`]);
    // The connection may remember that there was no such schema. A look into the catalogue makes it forget that.
    await sql.query("SELECT count(*) FROM pg_namespace");
    if (!(await hasTables(sql, schema))) await sql.query(creation(schema));
  });
}

/** @throws TurnlogError `LOG_FOREIGN` without tables, and as {@link hasTables} */
export async function assertTables(sql: Sql, schema: string): Promise<void> {
  if (await hasTables(sql, schema)) return;
  throw new TurnlogError(
    "LOG_FOREIGN",
    `The schema ${schema} of this database has none of turnlog's tables. Run \`turnlog postgres migrate\` as a role that may create them, or the SQL that \`turnlog postgres migrate --sql\` prints.`,
  );
}

/**
 * A release works on its own tables and on those of the next, so that processes of both run during an update.
 * @throws TurnlogError `LOG_TOO_NEW` for tables that more than one later release has changed, `LOG_FOREIGN` for those
 * of no release
 */
export async function hasTables(sql: Sql, schema: string): Promise<boolean> {
  const version = await versionOf(sql, schema);
  if (version === undefined) return false;
  if (version === VERSION || version === VERSION + 1) return true;
  if (version > VERSION)
    throw new TurnlogError(
      "LOG_TOO_NEW",
      `The schema ${schema} was migrated to version ${version} by a later release; this one knows ${VERSION}. Update turnlog.`,
    );
  throw new TurnlogError(
    "LOG_FOREIGN",
    `The schema ${schema} has version ${version} of turnlog's tables, which no release has created; this one needs ${VERSION}. Copy its sessions to a folder with the build that created it (\`turnlog copy\`), drop the schema, and copy them back.`,
  );
}

function creation(schema: string): string {
  return [
    `CREATE SCHEMA IF NOT EXISTS ${schema};`,
    `CREATE TABLE ${schema}.migrations (version int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());`,
    tables(schema),
    `INSERT INTO ${schema}.migrations (version) VALUES (${VERSION});`,
  ].join("\n");
}

/** Undefined without tables. */
async function versionOf(sql: Sql, schema: string): Promise<number | undefined> {
  const tables = await sql.query("SELECT to_regclass($1) IS NOT NULL AS found", [
    `${schema}.migrations`,
  ]);
  if (parseRows(foundSchema, tables)[0]?.found !== true) return undefined;
  const rows = await sql.query(`SELECT max(version) AS version FROM ${schema}.migrations`);
  return parseRows(versionSchema, rows)[0]?.version ?? undefined;
}
