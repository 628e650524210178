/**
 * Copies a store in use: all rows of one moment, from a database snapshot into a new database.
 * Files are not copied, since LevelDB rewrites them all the time.
 */

import { type BlobStore, TurnlogError } from "../../../events/index.ts";
import { folderBlobs } from "../../blobs/index.ts";
import {
  blobsIn,
  type Database,
  type Scan,
  readFailure,
  storeFailure,
  checkedMarkRow,
  BatchWriter,
} from "../rows/index.ts";
import {
  writeFormat,
  flush,
  levelAt,
  liveFiles,
  FORMAT,
  newStore,
  writeStoreFile,
  storePaths,
  type StorePaths,
  sumTables,
} from "../files/index.ts";
import { claimBackupFolder } from "./backup-folder.ts";
import { RowCheck } from "./row-check.ts";

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

const PAGE = 1000;
const PAGE_BYTES = 1024 * 1024;

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
      const { check, used } = await writeCopy(source, paths, options);
      // After the events: a blob is stored before the event that refers to it.
      const copied = await copyBlobs(blobs, paths, used, options);
      await folder.finish();
      const { sessions, events, end } = check;
      return { dir, sessions, events, position: end.position, ...copied };
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
): Promise<Copied> {
  const target = await levelAt(paths.log, true);
  let copied: Copied;
  try {
    await target.open();
    copied = await copyRows(source, target, options);
    const { check } = copied;
    const batch = target.batch();
    batch.put(...checkedMarkRow(check.end));
    await batch.write({ sync: true });
    // Last: without this row the database is not a log.
    await writeFormat(target, newStore.generation);
    await flush(target);
  } finally {
    await target.close();
  }
  const tables = await sumTables(liveFiles(paths.log).tables, {});
  const { generation } = newStore;
  const { end: reached } = copied.check;
  await writeStoreFile(paths, { format: FORMAT, generation, reached, tables });
  return copied;
}

interface Copied {
  readonly check: RowCheck;
  readonly used: ReadonlySet<string>;
}

async function copyRows(
  source: Database,
  target: Database,
  { onProgress, signal, indexed }: CopyOptions,
): Promise<Copied> {
  const check = new RowCheck(indexed);
  const used = new Set<string>();
  const writer = new BatchWriter(target);
  const scan = source.iterator({ highWaterMarkBytes: PAGE_BYTES });
  try {
    for (;;) {
      const rows = await nextPage(scan);
      signal?.throwIfAborted();
      if (rows.length === 0) break;
      for (const [key, row] of rows) {
        const copy = check.take(key, row);
        if (copy === undefined) continue;
        for (const { sha256 } of blobsIn(key, row)) used.add(sha256);
        await writer.put(key, copy);
      }
      onProgress?.({ events: check.events, of: check.of });
    }
  } finally {
    await scan.close();
  }
  check.finish();
  await writer.flush();
  return { check, used };
}

/** Reports lost blobs and continues: no later backup would have them either. */
async function copyBlobs(
  source: BlobStore,
  paths: StorePaths,
  used: ReadonlySet<string>,
  { signal }: BackupOptions,
): Promise<Pick<Backup, "blobs" | "lostBlobs">> {
  const target = folderBlobs(paths.blobs);
  const lostBlobs: string[] = [];
  for (const sha256 of used) {
    try {
      using _ = await target.put(source.get(sha256), signal === undefined ? {} : { signal });
    } catch (error) {
      const code = TurnlogError.isInstance(error) ? error.code : undefined;
      if (code !== "BLOB_MISSING" && code !== "BLOB_DAMAGED") throw error;
      lostBlobs.push(sha256);
    }
  }
  return { blobs: used.size - lostBlobs.length, lostBlobs };
}

/** A failed read is a failure of the source store, not of the backup's folder. */
async function nextPage(scan: Scan<[string, string]>): Promise<[string, string][]> {
  try {
    return await scan.nextv(PAGE);
  } catch (error) {
    throw readFailure(error, "all sessions", 0);
  }
}
