/** The database: its tables and functions, the driver, and its errors. */

export { databaseFailure, isUnknownOutcome, sqlState } from "./failures.ts";
export { connectPg } from "./pg-client.ts";
export { retrying } from "./retrying.ts";
export { parseRows, position, storedJson } from "./rows.ts";
export { assertTables, createTables, hasTables, schemaSql } from "./schema.ts";
export type { Listening, Sql, SqlPool } from "./sql.ts";
