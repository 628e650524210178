/**
 * A log that is made. LevelDB makes it of several files, and a power cut can keep any of their names
 * that were not synced. So a mark that is on the disk before says that nothing was acknowledged yet,
 * until all of it is on the disk: what a cut leaves of it is made again.
 */

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { PRIVATE_FILE, syncAbove, syncFolder } from "../../folder/index.ts";
import type { StoreFile } from "./store-file.ts";
import { namesIn, type StorePaths } from "./store-paths.ts";

/** Whether the log was never finished. One with tables has been in use, whatever the mark says. */
export function isUnfinished({ young, log }: StorePaths, { reached }: StoreFile): boolean {
  if (reached.position > 0 || !existsSync(young)) return false;
  return !namesIn(log).some((name) => name.endsWith(".ldb"));
}

/** Before LevelDB makes it; `store.json` is in its place by then. */
export async function beginLog(paths: StorePaths, above: string): Promise<void> {
  writeFileSync(paths.young, "", { mode: PRIVATE_FILE });
  await Promise.all([syncFolder(paths.dir), syncAbove(paths.dir, above)]);
}

/** Before anything in it is acknowledged. */
export async function finishLog(paths: StorePaths): Promise<void> {
  await syncFolder(paths.log);
  rmSync(paths.young);
  await syncFolder(paths.dir);
}
