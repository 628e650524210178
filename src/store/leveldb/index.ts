/** The event log in LevelDB, on disk and in memory. */

export type { Backup, BackupOptions } from "./backup/index.ts";
export {
  connectToStore,
  type Durability,
  reachOwner,
  type StoreService,
  storeReached,
} from "./files/index.ts";
export { openMemoryLog } from "./open-memory.ts";
export { openLog, openServedLog } from "./open-store.ts";
export { type RepairReport, repairLog } from "./repair/index.ts";
export { type WriteBatch, withChecksum, storeFailure } from "./rows/index.ts";
export type { StoreLog } from "./store-log.ts";
