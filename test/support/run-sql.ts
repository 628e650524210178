/** Statements that a test gives a database itself, on a connection of their own. */

import pg from "pg";

/** @param connectionString - Undefined: of the environment, as `pg` reads it. Returns the rows. */
export async function runSql(
  connectionString: string | undefined,
  text: string,
): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows }: { readonly rows: readonly unknown[] } = await client.query(text);
    return rows;
  } finally {
    await client.end();
  }
}

/** Takes all rows out of the log's tables in a schema: a tenth of what new tables cost. Without such tables does nothing. */
export async function emptyTables(connectionString: string, schema: string): Promise<void> {
  await runSql(
    connectionString,
    `DO $$
      DECLARE v_name text;
      BEGIN
        FOR v_name IN SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' AND tablename <> 'migrations' LOOP
          EXECUTE format('DELETE FROM ${schema}.%I', v_name);
        END LOOP;
        FOR v_name IN SELECT sequencename FROM pg_sequences WHERE schemaname = '${schema}' LOOP
          EXECUTE format('ALTER SEQUENCE ${schema}.%I RESTART', v_name);
        END LOOP;
      END
    $$`,
  );
}
