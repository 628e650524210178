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
