/**
 * Links to all files of the log, kept until opening succeeds: LevelDB rewrites its folder when it
 * opens it, and its recovery can drop rows silently. A damaged log gets its files back.
 */

import { renameSync, rmSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { linkFolder, type LiveFiles } from "./log-folder.ts";
import { namesIn, nextDamaged, type StorePaths } from "./store-files.ts";

export interface OpenGuard {
  /** The log is good: removes the links. */
  keep(): void;
  /** The log is damaged, and closed: restores its folder. */
  restore(): Promise<void>;
}

/** Finishes what a process left that died while it opened or repaired the store. Needs the lock. */
export async function finishInterrupted(paths: StorePaths): Promise<void> {
  const names = new Set(namesIn(paths.dir));
  for (const name of ["log.discard", "log.linking", "log.repairing", "log.reading"]) {
    if (names.has(name)) await rm(join(paths.dir, name), { recursive: true, force: true });
  }
  if (names.has("log.repaired")) await putRepaired(paths, names.has("log"));
  else if (names.has("log.before-open") && !names.has("log"))
    await rename(paths.beforeOpen, paths.log);
}

/** The last step of a repair. Returns where the damaged log was put. */
export async function putRepaired(paths: StorePaths, hasLog: boolean): Promise<string | undefined> {
  const damaged = hasLog ? nextDamaged(paths) : undefined;
  if (damaged !== undefined) await rename(paths.log, damaged);
  await rename(paths.repaired, paths.log);
  return damaged;
}

export async function restoreBeforeOpen(paths: StorePaths): Promise<void> {
  if (namesIn(paths.beforeOpen).length === 0) return;
  await rename(paths.log, nextDamaged(paths));
  await rename(paths.beforeOpen, paths.log);
}

export function guardLog(paths: StorePaths, files: LiveFiles): OpenGuard {
  linkFolder(paths.log, paths.linking, files);
  renameSync(paths.linking, paths.beforeOpen);
  return guardOver(paths, async () => {
    await rename(paths.log, paths.discard);
    await rename(paths.beforeOpen, paths.log);
    await rm(paths.discard, { recursive: true });
  });
}

/** The links of an interrupted opening: LevelDB may have changed the log since. */
export function inheritedGuard(paths: StorePaths): OpenGuard | undefined {
  if (namesIn(paths.beforeOpen).length === 0) return undefined;
  return guardOver(paths, () => restoreBeforeOpen(paths));
}

function guardOver(paths: StorePaths, restore: () => Promise<void>): OpenGuard {
  return {
    keep() {
      // Renamed first: half-deleted links must not pass for the log.
      renameSync(paths.beforeOpen, paths.discard);
      rmSync(paths.discard, { recursive: true });
    },
    restore,
  };
}
