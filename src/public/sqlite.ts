/**
 * The event log in one file of SQLite, with the SQLite of Node: no native module. It needs Node 22.13 or later.
 *
 * @example
 * import { createRuntime } from "turnlog";
 * import { openSqliteLog } from "turnlog/sqlite";
 *
 * const log = await openSqliteLog({ file: "data/sessions.db" });
 * const runtime = await createRuntime({ log, agent });
 */

export { openSqliteLog } from "../store/sqlite/index.ts";
