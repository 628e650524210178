/** A database as the store of a command, instead of a folder. */

import { z } from "zod";
import type { EventLog } from "../../events/index.ts";

export const databaseSchema = z.object({ connectionString: z.string(), migrate: z.boolean() });

/** The database of `--postgres`, and whether `--no-migrate` forbids to change its tables. */
export type Database = z.infer<typeof databaseSchema>;

/**
 * The log in a database; its driver is loaded now. A command that does not begin sessions makes no tables.
 * @throws TurnlogError as `openPostgresLog`
 */
export async function openDatabase(
  { connectionString, migrate }: Database,
  { creates }: { readonly creates: boolean },
): Promise<EventLog> {
  const { openPostgresLog } = await import("../../store/postgres/index.ts");
  return await openPostgresLog({ connectionString, migrate: migrate && creates });
}
