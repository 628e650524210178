/** Copies a store while it is in use. */

export type { Backup, BackupOptions } from "./backup-store.ts";
export { RunningBackups } from "./running-backups.ts";
