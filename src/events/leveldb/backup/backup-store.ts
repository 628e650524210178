/**
 * Copies a store while it is in use: all rows as they are at one moment, from a snapshot of the
 * database, into a new one. Its files are never copied, since LevelDB rewrites them all the time.
 */

import type { Database, Scan } from "../database.ts";
import { readFailure, storeFailure } from "../failures.ts";
import { checkedKey } from "../keys.ts";
import { BatchWriter } from "../repair/batch-writer.ts";
import { seal } from "../sealed-row.ts";
import { writeFormat } from "../store/format-row.ts";
import { flush, levelAt } from "../store/level.ts";
import { liveFiles } from "../store/log-folder.ts";
import { FORMAT, newStore, writeStoreFile } from "../store/store-file.ts";
import { storePaths, type StorePaths } from "../store/store-paths.ts";
import { sumTables } from "../store/table-sums.ts";
import { claimFolder } from "./backup-folder.ts";
import { RowCheck } from "./row-check.ts";

export interface BackupOptions {
  /** Told now and then how many of the store's events have been copied. */
  readonly onProgress?: (progress: { readonly events: number; readonly of: number }) => void;
  /** Gives the backup up; what was written of it is removed. */
  readonly signal?: AbortSignal;
}

export interface Backup {
  /** The folder, which {@link openLog} opens as a store. */
  readonly dir: string;
  readonly sessions: number;
  /** Events over all sessions; what forks share is counted once. */
  readonly events: number;
  /** The last global position. */
  readonly position: number;
}

const PAGE = 1000;
const PAGE_BYTES = 1024 * 1024;

/** @throws TurnlogError as `StoreLog.backup` */
export async function backupStore(
  source: Database,
  dir: string,
  options: BackupOptions,
): Promise<Backup> {
  const paths = storePaths(dir);
  try {
    options.signal?.throwIfAborted();
    const folder = await claimFolder(paths);
    try {
      const { sessions, events, end } = await writeCopy(source, paths, options);
      await folder.finish();
      return { dir, sessions, events, position: end.position };
    } catch (error) {
      await folder.discard();
      throw error;
    }
  } catch (error) {
    // Whoever aborts knows best why.
    if (options.signal?.aborted === true) throw options.signal.reason;
    throw storeFailure(error, dir, "backed up");
  }
}

async function writeCopy(
  source: Database,
  paths: StorePaths,
  options: BackupOptions,
): Promise<RowCheck> {
  const target = levelAt(paths.log, true);
  let check: RowCheck;
  try {
    await target.open();
    check = await copyRows(source, target, options);
    const batch = target.batch();
    batch.put(checkedKey, seal(checkedKey, check.end));
    await batch.write({ sync: true });
    // Last: without this row nobody takes the database for a log.
    await writeFormat(target, newStore.generation);
    await flush(target);
  } finally {
    await target.close();
  }
  const tables = await sumTables((await liveFiles(paths.log)).tables, {});
  const { generation } = newStore;
  await writeStoreFile(paths, { format: FORMAT, generation, reached: check.end, tables });
  return check;
}

async function copyRows(
  source: Database,
  target: Database,
  { onProgress, signal }: BackupOptions,
): Promise<RowCheck> {
  const check = new RowCheck();
  const writer = new BatchWriter(target);
  const scan = source.iterator({ highWaterMarkBytes: PAGE_BYTES });
  try {
    for (;;) {
      const rows = await nextPage(scan);
      signal?.throwIfAborted();
      if (rows.length === 0) break;
      for (const [key, row] of rows) if (check.take(key, row)) await writer.put(key, row);
      onProgress?.({ events: check.events, of: check.end.position });
    }
  } finally {
    await scan.close();
  }
  check.finish();
  await writer.flush();
  return check;
}

/** The store that is copied may close, or be damaged, which is no failure of the folder. */
async function nextPage(scan: Scan<[string, string]>): Promise<[string, string][]> {
  try {
    return await scan.nextv(PAGE);
  } catch (error) {
    throw readFailure(error, "all sessions", 0);
  }
}
