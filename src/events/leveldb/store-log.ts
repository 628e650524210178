/** What a log in a folder has beside the port. */

import type { BlobStore } from "../blob-store.ts";
import type { EventLog } from "../event-log.ts";
import type { Backup, BackupOptions } from "./backup/backup-store.ts";

/** A log whose store can be copied. */
export interface StoreLog extends EventLog {
  /** What lies beside the log: in the folder `blobs` of the store, or in memory with it. */
  readonly blobs: BlobStore;
  /**
   * Copies the store into an empty folder, which {@link openLog} opens as a store of its own: events,
   * order, ids, snapshots and blobs of one moment, also of everything whose append had resolved when this
   * was called. The log can be used meanwhile. All that is copied is checked; a store with damage is
   * not copied. Until all of it is on the disk, the folder is refused by whoever opens it.
   * @param dir - Made when it is not there.
   * @throws TurnlogError `INVALID_INPUT` (there is something in the folder), `LOG_DAMAGED` (this
   * store), `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED`, `LOG_CLOSED`; the signal's reason
   */
  backup(dir: string, options?: BackupOptions): Promise<Backup>;
}
