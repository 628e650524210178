/** The engine on any store of rows by key: LevelDB, on disk and in memory, and SQLite are such stores. */

export { rowEngine } from "./row-engine.ts";
export type { RowStore, Scan, WriteBatch } from "./rows/row-store.ts";
