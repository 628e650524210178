/** The log in a file of SQLite. */

export { openSqliteLog, type SqliteLog, type SqliteLogOptions } from "./open-sqlite-log.ts";
