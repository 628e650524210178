/** The log on LevelDB. Loads the database; `turnlog/events` does not. */

export { openLog, type OpenLogOptions } from "./store/open-store.ts";
export type { Durability } from "./store/owner.ts";
export type { Backup, BackupOptions } from "./backup/backup-store.ts";
export type { StoreLog } from "./store-log.ts";
export type { ThinnedSession } from "./thinning.ts";
export { openMemoryLog } from "./open-memory.ts";
export { storeReached } from "./store/store-file.ts";
export type { LostBlob } from "./repair/blob-survey.ts";
export { repairLog, type RepairOptions } from "./repair/repair-log.ts";
export type { RepairedSession, RepairReport } from "./repair/repair-report.ts";
