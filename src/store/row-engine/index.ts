/** The engine on any store of rows by key: the one under LevelDB's log, on disk and in memory, and under SQLite's. */

export { rowEngine, type RowEngine, type RowEngineOptions } from "./row-engine.ts";
