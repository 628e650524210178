/**
 * The names in a store's folder.
 *
 *   store.json        marks the folder as a store; how far the log had certainly come
 *   store.reached     how far the log of an open or killed store has come at least
 *   backup.unfinished marks a backup that is being written, or was killed
 *   owner.json        who writes to the store
 *   owner.sock        the owner listens here (owner-<n>.sock: before its rename)
 *   server.token      what `turnlog serve` asks of clients; only the owner's user may read it
 *   lock/             an empty LevelDB, used for its file lock only
 *   log/              the events
 *   log.new           an empty file while the log is created
 *   log.reading/      links to the files of the log, for reading only
 *   blobs/            large content, each once, under its digest
 *   blobs.damaged/    altered blobs that repair set aside, kept for good
 *   log.before-open/  links to the files of log/, until opening has succeeded
 *   log.repaired/     a finished repair before its rename
 *   log.damaged-<n>/  a log before its repair, kept for good
 *   log.discard/, log.linking/, log.repairing/   left over, deleted at the next opening
 */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { hasCode } from "../../../events/index.ts";

export interface StorePaths {
  readonly dir: string;
  readonly store: string;
  readonly owner: string;
  readonly socket: string;
  readonly unfinished: string;
  readonly lock: string;
  readonly log: string;
  readonly newLog: string;
  readonly reached: string;
  readonly reading: string;
  readonly blobs: string;
  readonly damagedBlobs: string;
  readonly beforeOpen: string;
  readonly repaired: string;
  readonly discard: string;
  readonly linking: string;
  readonly repairing: string;
}

export function storePaths(dir: string): StorePaths {
  return {
    dir,
    store: join(dir, "store.json"),
    owner: join(dir, "owner.json"),
    socket: join(dir, "owner.sock"),
    unfinished: join(dir, "backup.unfinished"),
    lock: join(dir, "lock"),
    log: join(dir, "log"),
    newLog: join(dir, "log.new"),
    reached: join(dir, "store.reached"),
    reading: join(dir, "log.reading"),
    blobs: join(dir, "blobs"),
    damagedBlobs: join(dir, "blobs.damaged"),
    beforeOpen: join(dir, "log.before-open"),
    repaired: join(dir, "log.repaired"),
    discard: join(dir, "log.discard"),
    linking: join(dir, "log.linking"),
    repairing: join(dir, "log.repairing"),
  };
}

/**
 * The names in a folder; empty if it does not exist. Synchronous, as all small reads of an opening
 * are: ten microseconds each, against more than a hundred for the thread pool, some fifteen times.
 */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

export function nextDamaged({ dir }: StorePaths): string {
  const numbers = namesIn(dir).map((name) => Number(/^log\.damaged-(\d+)$/.exec(name)?.[1] ?? 0));
  return join(dir, `log.damaged-${Math.max(0, ...numbers) + 1}`);
}
