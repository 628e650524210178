/** The event log in LevelDB, on disk and in memory. */

export type { Backup, BackupOptions } from "./backup/backup-store.ts";
export { connectToStore, reachOwner } from "./files/own-store.ts";
export type { Durability } from "./files/owner.ts";
export type { StoreService } from "./ownership/owner-socket.ts";
export { storeChangedAt } from "./files/store-file.ts";
export { openMemoryLog, openLog, openServedLog } from "./open-store.ts";
export { type RepairReport, repairLog } from "./repair/repair-log.ts";
export type { WriteBatch } from "../row-engine/rows/row-store.ts";
export { withChecksum } from "../row-engine/rows/commit-record.ts";
export { storeFailure } from "../row-engine/rows/failures.ts";
export type { StoreLog } from "./level-log.ts";
