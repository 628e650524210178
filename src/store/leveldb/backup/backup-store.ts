/**
 * Copies a store in use: all rows of one moment, from a database snapshot into a new database.
 * Files are not copied, since LevelDB rewrites them all the time.
 */

import { open, rm, rmdir } from "node:fs/promises";
import { type BlobStore, TurnlogError, hasCode } from "../../../events/index.ts";
import { folderBlobs } from "../../blobs/index.ts";
import {
  keepFilesPrivate,
  keepPrivate,
  makePrivateFolder,
  PRIVATE_FILE,
  syncAbove,
  syncFolder,
  isWithin,
} from "../../folder/index.ts";
import { damagedAt } from "../../log-rules/log-errors.ts";
import { type Damage, StoreCopy } from "../copy/store-copy.ts";
import { sumTables } from "../files/file-check.ts";
import { flush, levelAt } from "../files/level.ts";
import { liveFiles } from "../files/log-folder.ts";
import { ownStore, type Ownership } from "../files/own-store.ts";
import { writeFormat, FORMAT, newStore, writeStoreFile } from "../files/store-file.ts";
import { storePaths, type StorePaths, namesIn } from "../files/store-files.ts";
import { chainEnd } from "../../row-engine/read/chain-check.ts";
import type { KeyRange, RowStore, Rows, Scan } from "../../row-engine/rows/row-store.ts";
import { commitDamage, readFailure, storeFailure } from "../../row-engine/rows/failures.ts";

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

/** The rows of one moment, no matter what is written later, until it is closed. */
export interface Snapshot {
  close(): Promise<void>;
}

/** A store that can be copied while it is in use. */
export interface MomentStore extends RowStore {
  iterator(range: KeyRange & { readonly snapshot?: Snapshot }): Scan;
  snapshot(): Snapshot;
}

interface CopyOptions extends BackupOptions {
  /** Keeps rows that are deleted meanwhile, until the snapshot is closed. */
  readonly hold: (snapshot: Snapshot) => Snapshot;
  /** The global position up to which index rows are complete: commit records tell the rest. */
  readonly indexed: number;
}

/** @throws TurnlogError as `StoreLog.backup` */
export async function backupStore(
  source: MomentStore,
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
  source: MomentStore,
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
  source: MomentStore,
  target: RowStore,
  { onProgress, signal, indexed, hold }: CopyOptions,
): Promise<StoreCopy> {
  const snapshot = hold(source.snapshot());
  try {
    const rows = rowsOf(source, snapshot);
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
    await snapshot.close();
  }
}

/** A damaged copy would pass for a good one. */
function refuse({ session, position, why }: Damage): never {
  throw session === undefined ? commitDamage(position, why) : damagedAt(session, position, why);
}

/** A failed read is a failure of the source store, not of the backup's folder. */
function rowsOf(source: MomentStore, snapshot: Snapshot): Rows {
  return {
    iterator: (range) => {
      const scan = source.iterator({ ...range, snapshot });
      return {
        nextv: async (size) => {
          try {
            return await scan.nextv(size);
          } catch (error) {
            throw readFailure(error, "all sessions", 0);
          }
        },
        close: () => scan.close(),
      };
    },
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

// The folder of a new backup. Until the backup is complete, a marker makes opening and repair refuse the folder.

export interface BackupFolder {
  finish(): Promise<void>;
  discard(): Promise<void>;
}

const OWN: ReadonlySet<string> = new Set(["lock", "backup.unfinished", "owner.sock"]);

const NOTE = "This backup was not finished. Delete this folder and make the backup again.\n";

/** @throws TurnlogError `INVALID_INPUT` when there is anything in the folder, `LOG_LOCKED` */
export async function claimBackupFolder(paths: StorePaths): Promise<BackupFolder> {
  const { dir, unfinished } = paths;
  const made = madeFolder(dir);
  const [first] = namesIn(dir);
  if (first !== undefined) throw notEmpty(dir, first);
  try {
    // `wx`: of two backups into one folder, one is refused.
    const file = await open(unfinished, "wx", PRIVATE_FILE);
    await file.writeFile(NOTE);
    await file.sync();
    await file.close();
  } catch (error) {
    throw hasCode(error, "EEXIST") ? notEmpty(dir, "another backup") : error;
  }
  let ownership: Ownership | undefined;
  try {
    ownership = await ownStore(paths);
    const others = namesIn(dir).filter((name) => !OWN.has(name));
    if (others[0] !== undefined) throw notEmpty(dir, others[0]);
  } catch (error) {
    // Another process may own everything else in the folder.
    await ownership?.release();
    await rm(unfinished, { force: true });
    throw error;
  }
  return folderOf(paths, ownership, made);
}

function folderOf(paths: StorePaths, ownership: Ownership, made: boolean): BackupFolder {
  const { dir, log, blobs, store, unfinished } = paths;
  return {
    finish: async () => {
      for (const folder of [log, paths.lock]) keepFilesPrivate(folder);
      await syncFolder(log);
      await rm(unfinished);
      await syncFolder(dir);
      await syncAbove(dir);
      await ownership.release();
    },
    discard: async () => {
      await ownership.release();
      for (const path of [log, blobs, paths.lock, store, `${store}.new`])
        await rm(path, { recursive: true, force: true });
      await rm(unfinished, { force: true });
      if (made) await rmdir(dir);
    },
  };
}

/** @throws TurnlogError `INVALID_INPUT` for a folder inside the store, which would contain its own copy */
export function assertOutside(store: string, dir: string): void {
  if (!isWithin(store, dir)) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `A backup cannot be inside its own store: ${dir} is in ${store}. Nothing was changed. Name a folder outside of it.`,
    { details: { dir } },
  );
}

function madeFolder(dir: string): boolean {
  try {
    const made = makePrivateFolder(dir) !== undefined;
    keepPrivate(dir);
    return made;
  } catch (error) {
    if (hasCode(error, "EEXIST", "ENOTDIR")) throw notEmpty(dir, "a file in its place");
    throw error;
  }
}

function notEmpty(dir: string, what: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `The folder ${dir} cannot take a backup: it contains ${what}. Nothing was changed. Name a folder that is empty or does not exist.`,
    { details: { dir } },
  );
}
