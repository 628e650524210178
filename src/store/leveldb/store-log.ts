/** The interface of a log in a folder: the `EventLog` port, plus backup. */

import type { BlobStore, CursorStore, EventLog } from "../../events/index.ts";
import type { Backup, BackupOptions } from "./backup/backup-store.ts";

/**
 * A log whose store can be copied.
 * @example
 * const log: StoreLog = await openLog({ dir: ".turnlog" });
 * await log.backup("../copies/monday");
 */
export interface StoreLog extends EventLog {
  /** The store's folder; undefined for a log in memory. */
  readonly dir: string | undefined;
  /** Whether the store is open for reading only: every change is refused with `LOG_READ_ONLY`. */
  readonly readOnly: boolean;
  readonly blobs: BlobStore;
  readonly cursors: CursorStore;
  /**
   * Copies the store into an empty folder, which {@link openLog} opens as an independent store. The
   * copy shows one moment: events, order, ids, snapshots and blobs, including every append that had
   * resolved before the call. The log stays usable during the copy. Everything is checked; a damaged store is not
   * copied. Until the copy is complete on disk, its folder cannot be opened.
   * @param dir - Outside of the store; created if it does not exist.
   * @throws TurnlogError `INVALID_INPUT` (the folder is not empty, or is inside the store),
   * `LOG_DAMAGED` (this store), `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED`, `LOG_CLOSED`; the signal's reason
   */
  backup(dir: string, options?: BackupOptions): Promise<Backup>;
}
