/** The log in a file of SQLite. */

export { openSqliteLog } from "./open-sqlite-log.ts";
