/** What a log in a folder has beside the port. */

import type { BlobStore, EventLog } from "../../events/index.ts";
import type { Backup, BackupOptions } from "./backup/index.ts";
import type { TrimmedSession, TrimOptions } from "./upkeep/index.ts";

/** A log whose store can be copied, and whose sessions can be thinned. */
export interface StoreLog extends EventLog {
  /** The folder of the store; undefined for one in memory. */
  readonly dir: string | undefined;
  /** Whether it was opened to be read: all that would change the store is refused with `LOG_READ_ONLY`. */
  readonly readOnly: boolean;
  /** What lies beside the log: in the folder `blobs` of the store, or in memory with it. */
  readonly blobs: BlobStore;
  /**
   * Copies the store into an empty folder, which {@link openLog} opens as a store of its own: events,
   * order, ids, snapshots and blobs of one moment, also of everything whose append had resolved when this
   * was called. The log can be used meanwhile. All that is copied is checked; a store with damage is
   * not copied. Until all of it is on the disk, the folder is refused by whoever opens it.
   * @param dir - Made when it is not there; outside of the store.
   * @throws TurnlogError `INVALID_INPUT` (there is something in the folder, or it is in the store), `LOG_DAMAGED` (this
   * store), `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED`, `LOG_CLOSED`; the signal's reason
   */
  backup(dir: string, options?: BackupOptions): Promise<Backup>;
  /**
   * Drops what a session's `session.thinned` events say, `say` among them, which is recorded first.
   * Its own events keep their positions and types; appends, forks and snapshots wait meanwhile. Cut
   * short, each block of it is as it was or as it is to be, and calling it again goes on. Whoever
   * reads the past in pages meanwhile (`subscribe`, `readAll`) may be told a block partly the one way
   * and partly the other. What is in the memory of who runs the session is theirs to forget.
   * Called by `trimLog`, which chooses what can be dropped.
   * @throws TurnlogError `SESSION_NOT_FOUND`, `REVISION_CONFLICT`, `SESSION_HAS_FORKS` (`details.forks`
   * share reasoning that is to be dropped), `COMMAND_REFUSED` (a hash chain is over it), and as `append`
   */
  trim(session: string, options: TrimOptions): Promise<TrimmedSession>;
}
