/** `turnlog postgres migrate`: creates the tables of a database, or prints the SQL that does. */

import { missingSchemaSql, postgresSchemaSql } from "../../store/postgres/index.ts";
import { jsonText } from "../output/visible-text.ts";
import { UsageError } from "../output/error-report.ts";
import { writeLine, type Output } from "../output/output.ts";
import { openDatabase } from "../settings/store-folder.ts";
import type { Given } from "./option-values.ts";
import type { printsSql } from "./command-options.ts";

/** With `--sql` and a database, prints what this database lacks; without a database, all. */
export async function migrateDatabase(
  _work: "migrate",
  { remote, sql, json }: Given<[typeof printsSql]>,
  { data, progress }: Output,
): Promise<void> {
  if (sql) {
    const text =
      remote?.kind !== "database"
        ? postgresSchemaSql()
        : await missingSchemaSql(remote.connectionString);
    if (text === "") await writeLine(progress, "Nothing to do: the tables are there.");
    else await writeLine(data, json ? jsonText({ sql: text }) : text);
    return;
  }
  if (remote?.kind !== "database")
    throw new UsageError("Name the database with --postgres <url> or TURNLOG_POSTGRES_URL.");
  if (!remote.migrate)
    throw new UsageError(
      "--no-migrate forbids the very thing that this command does: leave it out.",
    );
  await (await openDatabase(remote, { creates: true })).close();
  const done = "The tables of the database are those of this release, or of the next one.";
  await writeLine(data, json ? jsonText({ migrated: true }) : done);
}
