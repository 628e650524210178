/** `turnlog postgres migrate`: creates the tables of a database, or prints the SQL that does. */

import { z } from "zod";
import { missingSchemaSql, postgresSchemaSql } from "../../store/postgres/index.ts";
import { jsonText } from "../output/visible-text.ts";
import { UsageError } from "../output/error-report.ts";
import { writeLine, type Output } from "../output/output.ts";
import { openDatabase, storeOptions } from "../settings/store-folder.ts";

const optionsSchema = z.object({ ...storeOptions, sql: z.boolean().default(false) });

/** With `--sql` and a database, prints what this database lacks; without a database, all. */
export async function migrateDatabase(
  _work: "migrate",
  given: unknown,
  { data, progress }: Output,
): Promise<void> {
  const { remote, sql, json } = optionsSchema.parse(given);
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
