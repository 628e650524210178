/**
 * What lies in the folder of a store.
 *
 *   store.json        says that the folder is ours, and what the log had certainly reached
 *   backup.unfinished as long as a backup is written into the folder, or after one was killed
 *   owner.json        who writes to it
 *   owner.sock        who has it open listens here (owner-<n>.sock: about to be put there)
 *   lock/             an empty LevelDB of which only the file lock matters
 *   log/              the events
 *   log.new           an empty file as long as the log is made, and nothing is in it
 *   log.reading/      links to the files of the log, for who only reads
 *   blobs/            large content, each once, under its digest
 *   blobs.damaged/    altered ones that repair found, kept for good
 *   log.before-open/  links to the files of log/ as they were, until opening has succeeded
 *   log.repaired/     a finished repair that is not in its place yet
 *   log.damaged-<n>/  what repair found, kept for good
 *   log.discard/, log.linking/, log.repairing/   unfinished or finished business, deleted
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
  readonly young: string;
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
    young: join(dir, "log.new"),
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
 * The names in a folder; none when there is no such folder. Not asynchronous, as is all that opening
 * a store does with names and small files: some ten microseconds each, where a round trip to the
 * thread pool is more than a hundred, and there are some fifteen of them, one after the other.
 */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** A name for the next damaged log that is kept. */
export function nextDamaged({ dir }: StorePaths): string {
  const numbers = namesIn(dir).map((name) => Number(/^log\.damaged-(\d+)$/.exec(name)?.[1] ?? 0));
  return join(dir, `log.damaged-${Math.max(0, ...numbers) + 1}`);
}
