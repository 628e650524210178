/**
 * The creation of a log. LevelDB makes several files, and a power cut can lose any name that was
 * not synced. A mark file, on disk before them, tells that nothing is acknowledged yet; while it
 * exists, the log is created again.
 */

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { PRIVATE_FILE, syncAbove, syncFolder } from "../../folder/index.ts";
import type { StoreFile } from "./store-file.ts";
import { namesIn, type StorePaths } from "./store-paths.ts";

/** Whether the log was never finished. A log with tables has been in use, despite the mark. */
export function isUnfinished({ newLog: young, log }: StorePaths, { reached }: StoreFile): boolean {
  if (reached.position > 0 || !existsSync(young)) return false;
  return !namesIn(log).some((name) => name.endsWith(".ldb"));
}

/** Runs before LevelDB creates the log, and after `store.json` is in place. */
export async function beginLog(paths: StorePaths, above: string): Promise<void> {
  writeFileSync(paths.newLog, "", { mode: PRIVATE_FILE });
  await Promise.all([syncFolder(paths.dir), syncAbove(paths.dir, above)]);
}

/** Runs before anything in the log is acknowledged. */
export async function finishLog(paths: StorePaths): Promise<void> {
  await syncFolder(paths.log);
  rmSync(paths.newLog);
  await syncFolder(paths.dir);
}
