/** Brings the database to the newest schema, once, whatever number of processes start at the same time. */

import { z } from "zod";
import { TurnlogError } from "../../../events/index.ts";
import { migrations } from "./migrations.ts";
import { parseRows } from "./rows.ts";
import type { Sql, SqlPool } from "./sql.ts";

const foundSchema = z.object({ found: z.boolean() });
const versionSchema = z.object({ version: z.int().nullable() });

/** The SQL of the migrations behind a version, for a database role that may not change schemas itself. Empty if there are none. */
export function migrationSql(schema: string, after = 0): string {
  const missing = migrations(schema).filter(({ version }) => version > after);
  if (missing.length === 0) return "";
  const applied = missing.map(
    ({ version, sql }) => `${sql}\nINSERT INTO ${schema}.migrations (version) VALUES (${version});`,
  );
  return ["BEGIN;", ledger(schema), ...applied, "COMMIT;"].join("\n");
}

/** @throws TurnlogError `LOG_TOO_NEW` for a schema that more than one later release has changed */
export async function migrate(pool: SqlPool, schema: string): Promise<void> {
  const known = migrations(schema);
  const newest = known.at(-1)?.version ?? 0;
  if (isUsable(await versionOf(pool, schema), schema, newest)) return;
  await pool.transaction(async (sql) => {
    await sql.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", [`turnlog ${schema}`]);
    // The connection may remember that there was no such schema. A look into the catalogue makes it forget that.
    await sql.query("SELECT count(*) FROM pg_namespace");
    await sql.query(ledger(schema));
    const version = (await versionOf(sql, schema)) ?? 0;
    if (isUsable(version, schema, newest)) return;
    for (const migration of known) {
      if (migration.version <= version) continue;
      await sql.query(migration.sql);
      await sql.query(`INSERT INTO ${schema}.migrations (version) VALUES ($1)`, [
        migration.version,
      ]);
    }
  });
}

/** @throws TurnlogError `LOG_FOREIGN` if the schema was not migrated, `LOG_TOO_NEW` */
export async function assertMigrated(sql: Sql, schema: string): Promise<void> {
  const newest = migrations(schema).at(-1)?.version ?? 0;
  const version = await versionOf(sql, schema);
  if (isUsable(version, schema, newest)) return;
  throw new TurnlogError(
    "LOG_FOREIGN",
    `The schema ${schema} of this database has version ${version ?? 0} of turnlog's tables, this release needs ${newest}. Run \`turnlog postgres migrate\` as a role that may change it, or the SQL that \`turnlog postgres migrate --sql\` prints.`,
  );
}

/** A release works on its own schema and on the next, so that processes of both run during an update. */
function isUsable(version: number | undefined, schema: string, newest: number): boolean {
  if (version === undefined || version < newest) return false;
  if (version <= newest + 1) return true;
  throw tooNew(schema, version, newest);
}

function ledger(schema: string): string {
  return `CREATE SCHEMA IF NOT EXISTS ${schema};\nCREATE TABLE IF NOT EXISTS ${schema}.migrations (version int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());`;
}

/** Undefined without tables. */
export async function versionOf(sql: Sql, schema: string): Promise<number | undefined> {
  const tables = await sql.query("SELECT to_regclass($1) IS NOT NULL AS found", [
    `${schema}.migrations`,
  ]);
  if (parseRows(foundSchema, tables)[0]?.found !== true) return undefined;
  const rows = await sql.query(`SELECT max(version) AS version FROM ${schema}.migrations`);
  return parseRows(versionSchema, rows)[0]?.version ?? undefined;
}

function tooNew(schema: string, version: number, newest: number): TurnlogError {
  return new TurnlogError(
    "LOG_TOO_NEW",
    `The schema ${schema} was migrated to version ${version} by a later release; this one knows ${newest}. Update turnlog.`,
  );
}
