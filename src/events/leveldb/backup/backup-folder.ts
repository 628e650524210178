/**
 * The folder that a backup is written into. As long as a file in it says that the backup is not
 * finished, opening and repair refuse it: what a killed backup left is no store.
 */

import { mkdir, open, rm, rmdir } from "node:fs/promises";
import { TurnlogError } from "../../errors.ts";
import { takeLock, type StoreLock } from "../store/store-lock.ts";
import { hasCode, namesIn, type StorePaths } from "../store/store-paths.ts";

export interface BackupFolder {
  /** The backup is whole: from now on it is a store. */
  finish(): Promise<void>;
  /** Removes all that was written. */
  discard(): Promise<void>;
}

const NOTE = "This backup was not finished. Delete this folder and make the backup again.\n";

/** @throws TurnlogError `INVALID_INPUT` when there is anything in the folder, `LOG_LOCKED` */
export async function claimFolder(paths: StorePaths): Promise<BackupFolder> {
  const { dir, unfinished } = paths;
  const made = (await mkdirOf(dir)) !== undefined;
  const [first] = namesIn(dir);
  if (first !== undefined) throw notEmpty(dir, first);
  try {
    // `wx`: of two backups into the same folder one is refused.
    const file = await open(unfinished, "wx");
    await file.writeFile(NOTE);
    await file.sync();
    await file.close();
  } catch (error) {
    throw hasCode(error, "EEXIST") ? notEmpty(dir, "another backup") : error;
  }
  let lock: StoreLock | undefined;
  try {
    lock = await takeLock(paths);
    const others = namesIn(dir).filter((name) => !["lock", "backup.unfinished"].includes(name));
    if (others[0] !== undefined) throw notEmpty(dir, others[0]);
  } catch (error) {
    // Whatever else is there now is somebody else's.
    await lock?.release();
    await rm(unfinished, { force: true });
    throw error;
  }
  return folderOf(paths, lock, made);
}

function folderOf(paths: StorePaths, lock: StoreLock, made: boolean): BackupFolder {
  const { dir, log, blobs, store, unfinished } = paths;
  return {
    finish: async () => {
      await rm(unfinished);
      await syncFolder(dir);
      await lock.release();
    },
    discard: async () => {
      await lock.release();
      for (const path of [log, blobs, paths.lock, store, `${store}.new`])
        await rm(path, { recursive: true, force: true });
      await rm(unfinished, { force: true });
      if (made) await rmdir(dir);
    },
  };
}

async function mkdirOf(dir: string): Promise<string | undefined> {
  try {
    return await mkdir(dir, { recursive: true });
  } catch (error) {
    if (hasCode(error, "EEXIST", "ENOTDIR")) throw notEmpty(dir, "a file in its place");
    throw error;
  }
}

/** What was renamed and deleted in it outlives a power cut. */
async function syncFolder(dir: string): Promise<void> {
  // Windows cannot open a folder; there it has nothing like it either.
  if (process.platform === "win32") return;
  const folder = await open(dir, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function notEmpty(dir: string, what: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `The folder ${dir} cannot take a backup: there is ${what} in it already. Nothing was changed. Name one that is empty or not there.`,
    { details: { dir } },
  );
}
