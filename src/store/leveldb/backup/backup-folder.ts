/** The folder of a new backup. Until the backup is complete, a marker makes opening and repair refuse the folder. */

import { open, rm, rmdir } from "node:fs/promises";
import { TurnlogError, hasCode } from "../../../events/index.ts";
import {
  keepFilesPrivate,
  keepPrivate,
  makePrivateFolder,
  PRIVATE_FILE,
  syncAbove,
  syncFolder,
  isWithin,
} from "../../folder/index.ts";
import { ownStore, type Ownership } from "../files/own-store.ts";
import { namesIn, type StorePaths } from "../files/store-files.ts";

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
