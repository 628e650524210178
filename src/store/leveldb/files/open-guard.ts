/**
 * Opening lets LevelDB rewrite its folder, and its recovery can drop rows without a word. So until
 * the log has been checked, links to all its files lie beside it, and go back in their place when
 * it is damaged.
 */

import { renameSync, rmSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { linkFolder, type LiveFiles } from "./log-folder.ts";
import { namesIn, nextDamaged, type StorePaths } from "./store-paths.ts";

export interface OpenGuard {
  /** The log is good: the links go. */
  keep(): void;
  /** The log is not good, and is closed: its folder is as it was before opening. */
  restore(): Promise<void>;
}

/** Puts right what a process left that died while it opened or repaired. Only under the lock. */
export async function settle(paths: StorePaths): Promise<void> {
  const names = new Set(namesIn(paths.dir));
  for (const name of ["log.discard", "log.linking", "log.repairing", "log.reading"]) {
    if (names.has(name)) await rm(join(paths.dir, name), { recursive: true, force: true });
  }
  if (names.has("log.repaired")) await putRepaired(paths, names.has("log"));
  else if (names.has("log.before-open") && !names.has("log"))
    await rename(paths.beforeOpen, paths.log);
}

/** The last step of a repair; returns where the damaged log was put. */
export async function putRepaired(paths: StorePaths, hasLog: boolean): Promise<string | undefined> {
  const damaged = hasLog ? nextDamaged(paths) : undefined;
  if (damaged !== undefined) await rename(paths.log, damaged);
  await rename(paths.repaired, paths.log);
  return damaged;
}

/** Puts the log as it was before an opening that was cut short in its place; the other one is kept too. */
export async function takeBack(paths: StorePaths): Promise<void> {
  if (namesIn(paths.beforeOpen).length === 0) return;
  await rename(paths.log, nextDamaged(paths));
  await rename(paths.beforeOpen, paths.log);
}

/** Lays links to all files of the log beside it. */
export function guardLog(paths: StorePaths, files: LiveFiles): OpenGuard {
  linkFolder(paths.log, paths.linking, files);
  renameSync(paths.linking, paths.beforeOpen);
  return guardOver(paths, async () => {
    await rename(paths.log, paths.discard);
    await rename(paths.beforeOpen, paths.log);
    await rm(paths.discard, { recursive: true });
  });
}

/** The links of an opening that was cut short: LevelDB may have worked on the log since. */
export function inheritedGuard(paths: StorePaths): OpenGuard | undefined {
  if (namesIn(paths.beforeOpen).length === 0) return undefined;
  return guardOver(paths, () => takeBack(paths));
}

function guardOver(paths: StorePaths, restore: () => Promise<void>): OpenGuard {
  return {
    keep() {
      // First out of the way: half-deleted links must not be taken for the log as it was.
      renameSync(paths.beforeOpen, paths.discard);
      rmSync(paths.discard, { recursive: true });
    },
    restore,
  };
}
