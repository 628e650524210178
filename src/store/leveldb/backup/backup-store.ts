/**
 * Copies a store in use: all rows of one moment, from a database snapshot into a new database.
 * Files are not copied, since LevelDB rewrites them all the time.
 */

import { type BlobStore, TurnlogError } from "../../../events/index.ts";
import { folderBlobs } from "../../blobs/index.ts";
import { damagedAt } from "../../log-rules/log-errors.ts";
import { type Damage, StoreCopy } from "../copy/store-copy.ts";
import { chainEnd } from "../read/chain-check.ts";
import { commitDamage, readFailure, storeFailure } from "../rows/failures.ts";
import { type Database, momentOf, type Rows, type Scan } from "../rows/database.ts";
import { writeFormat, FORMAT, newStore, writeStoreFile } from "../files/store-file.ts";
import { flush, levelAt } from "../files/level.ts";
import { liveFiles } from "../files/log-folder.ts";
import { storePaths, type StorePaths } from "../files/store-files.ts";
import { sumTables } from "../files/file-check.ts";
import { claimBackupFolder } from "./backup-folder.ts";

export interface BackupOptions {
  /** Called now and then with the number of events copied so far. */
  readonly onProgress?: (progress: { readonly events: number; readonly of: number }) => void;
  /** Cancels the backup and removes what was written. */
  readonly signal?: AbortSignal;
}

export interface Backup {
  readonly dir: string;
  readonly sessions: number;
  /** Events over all sessions; shared events count once. */
  readonly events: number;
  /** The last global position. */
  readonly position: number;
  /** Blobs that the events refer to and that the copy contains. */
  readonly blobs: number;
  /** Digests of missing or damaged blobs, which are not copied: `turnlog verify` names their events. */
  readonly lostBlobs: readonly string[];
}

interface CopyOptions extends BackupOptions {
  /** The global position up to which index rows are complete: commit records tell the rest. */
  readonly indexed: number;
}

/** @throws TurnlogError as `StoreLog.backup` */
export async function backupStore(
  source: Database,
  blobs: BlobStore,
  dir: string,
  options: CopyOptions,
): Promise<Backup> {
  const paths = storePaths(dir);
  try {
    options.signal?.throwIfAborted();
    const folder = await claimBackupFolder(paths);
    try {
      const copy = await writeCopy(source, paths, options);
      // After the events: a blob is stored before the event that refers to it.
      const copied = await copyBlobs(blobs, paths, copy.blobs.keys(), options);
      await folder.finish();
      const { sessions, events, end } = copy;
      return { dir, sessions: sessions.size, events, position: end.position, ...copied };
    } catch (error) {
      await folder.discard();
      throw error;
    }
  } catch (error) {
    // The caller gets its own reason.
    if (options.signal?.aborted === true) throw options.signal.reason;
    throw storeFailure(error, dir, "backed up");
  }
}

async function writeCopy(
  source: Database,
  paths: StorePaths,
  options: CopyOptions,
): Promise<StoreCopy> {
  const target = await levelAt(paths.log, true);
  let copy: StoreCopy;
  try {
    await target.open();
    copy = await copyMoment(source, target, options);
    // Last: without this row the database is not a log.
    await writeFormat(target, newStore.generation);
    await flush(target);
  } finally {
    await target.close();
  }
  const tables = await sumTables(liveFiles(paths.log).tables, {});
  const { generation } = newStore;
  await writeStoreFile(paths, { format: FORMAT, generation, reached: copy.end, tables });
  return copy;
}

async function copyMoment(
  source: Database,
  target: Database,
  { onProgress, signal, indexed }: CopyOptions,
): Promise<StoreCopy> {
  const moment = momentOf(source);
  try {
    const rows = ofSource(moment);
    const { position } = await chainEnd(rows);
    const copy = new StoreCopy(rows, target, {
      indexed,
      onDamage: refuse,
      onEvents: ({ events, deleted }) => {
        signal?.throwIfAborted();
        const gone = [...deleted.values()].reduce((sum, revision) => sum + revision, 0);
        onProgress?.({ events, of: Math.max(events, position - gone) });
      },
    });
    await copy.write();
    const { events } = copy;
    onProgress?.({ events, of: events });
    return copy;
  } finally {
    await moment.close();
  }
}

/** A damaged copy would pass for a good one. */
function refuse({ session, position, why }: Damage): never {
  throw session === undefined ? commitDamage(position, why) : damagedAt(session, position, why);
}

/** A failed read is a failure of the source store, not of the backup's folder. */
function ofSource({ iterator, keys, values }: Rows): Rows {
  const read = <Item>(scan: Scan<Item>): Scan<Item> => ({
    nextv: async (size) => {
      try {
        return await scan.nextv(size);
      } catch (error) {
        throw readFailure(error, "all sessions", 0);
      }
    },
    close: () => scan.close(),
  });
  return {
    iterator: (options) => read(iterator(options)),
    keys: (options) => read(keys(options)),
    values: (options) => read(values(options)),
  };
}

/** Reports lost blobs and continues: no later backup would have them either. */
async function copyBlobs(
  source: BlobStore,
  paths: StorePaths,
  used: Iterable<string>,
  { signal }: BackupOptions,
): Promise<Pick<Backup, "blobs" | "lostBlobs">> {
  const target = folderBlobs(paths.blobs);
  const lostBlobs: string[] = [];
  let count = 0;
  for (const sha256 of used) {
    count += 1;
    try {
      using _ = await target.put(source.get(sha256), signal === undefined ? {} : { signal });
    } catch (error) {
      const code = TurnlogError.isInstance(error) ? error.code : undefined;
      if (code !== "BLOB_MISSING" && code !== "BLOB_DAMAGED") throw error;
      lostBlobs.push(sha256);
    }
  }
  return { blobs: count - lostBlobs.length, lostBlobs };
}
