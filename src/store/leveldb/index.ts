/** The event log in LevelDB, on disk and in memory. */

export type { Backup, BackupOptions } from "./backup/index.ts";
export { type Durability, storeReached } from "./files/index.ts";
export { openMemoryLog } from "./open-memory.ts";
export { type OpenLogOptions, openLog } from "./open-store.ts";
export {
  type LostBlob,
  type RepairOptions,
  type RepairReport,
  type RepairedSession,
  repairLog,
} from "./repair/index.ts";
export { type WriteBatch, withChecksum, storeFailure } from "./rows/index.ts";
export type { StoreLog } from "./store-log.ts";
export type { TrimmedSession } from "./upkeep/index.ts";
