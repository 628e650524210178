/**
 * The event log on PostgreSQL 15 or later. It needs the package pg.
 *
 * @example
 * import { createRuntime } from "turnlog";
 * import { openPostgresLog } from "turnlog/postgres";
 *
 * const log = await openPostgresLog({ connectionString: process.env.DATABASE_URL ?? "" });
 * const runtime = await createRuntime({ log, agent });
 */

export { openPostgresLog } from "../store/postgres/index.ts";
