/** Copies a store while it is in use. */

export { assertOutside } from "./backup-folder.ts";
export { type Backup, type BackupOptions, backupStore } from "./backup-store.ts";
