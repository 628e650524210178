/**
 * One process at a time, by LevelDB's lock, which ends with its process. LevelDB takes its lock
 * only while it rewrites the folder, so an empty LevelDB beside the log is locked first.
 */

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { levelAt, type LevelDb } from "./level.ts";
import { isLocked, storeFailure } from "../rows/failures.ts";
import { lockedError } from "./owner.ts";
import { namesIn, type StorePaths } from "./store-paths.ts";

export interface StoreLock {
  release(): Promise<void>;
}

/** @throws TurnlogError `LOG_LOCKED`, `LOG_READ_ONLY`, `LOG_FULL`, `LOG_FAILED` */
export async function takeLock(paths: StorePaths): Promise<StoreLock> {
  const database = await openLock(paths, true);
  return { release: () => database.close() };
}

async function openLock(paths: StorePaths, mayClear: boolean): Promise<LevelDb> {
  const database = await levelAt(paths.lock, !existsSync(join(paths.lock, "CURRENT")));
  try {
    await database.open();
    return database;
  } catch (error) {
    if (isLocked(error)) throw lockedError(paths, { cause: error });
    const failure = storeFailure(error, paths.dir);
    if (failure.code !== "LOG_DAMAGED" || !mayClear) throw failure;
    await clearLock(paths);
    return openLock(paths, false);
  }
}

/** A power cut can leave the lock's LevelDB unreadable. `LOCK` stays: its holder needs it. */
async function clearLock({ lock }: StorePaths): Promise<void> {
  for (const name of namesIn(lock)) {
    if (name !== "LOCK") await rm(join(lock, name), { force: true });
  }
}
