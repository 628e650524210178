/**
 * Opening lets LevelDB rewrite its folder, and its recovery can drop rows without a word. So until
 * the log has been checked, links to all its files lie beside it, and go back in their place when
 * it is damaged. LevelDB never writes into a file again that it has closed, so links are enough.
 */

import { copyFile, link, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, namesIn, nextDamaged, type StorePaths } from "./store-paths.ts";

export interface OpenGuard {
  /** The log is good: the links go. */
  keep(): Promise<void>;
  /** The log is not good, and is closed: its folder is as it was before opening. */
  restore(): Promise<void>;
}

/** Puts right what a process left that died while it opened or repaired. Only under the lock. */
export async function settle(paths: StorePaths): Promise<void> {
  const names = new Set(await namesIn(paths.dir));
  for (const name of ["log.discard", "log.linking", "log.repairing"]) {
    if (names.has(name)) await rm(join(paths.dir, name), { recursive: true, force: true });
  }
  if (names.has("log.repaired")) await putRepaired(paths, names.has("log"));
  else if (names.has("log.before-open") && !names.has("log")) await rename(paths.beforeOpen, paths.log);
}

/** The last step of a repair; returns where the damaged log was put. */
export async function putRepaired(paths: StorePaths, hasLog: boolean): Promise<string | undefined> {
  const damaged = hasLog ? await nextDamaged(paths) : undefined;
  if (damaged !== undefined) await rename(paths.log, damaged);
  await rename(paths.repaired, paths.log);
  return damaged;
}

/** Where opening was cut short, repair works on the log as it was before; the other one is kept too. */
export async function takeBack(paths: StorePaths): Promise<void> {
  if ((await namesIn(paths.beforeOpen)).length === 0) return;
  await rename(paths.log, await nextDamaged(paths));
  await rename(paths.beforeOpen, paths.log);
}

export async function guardLog(paths: StorePaths): Promise<OpenGuard> {
  const inherited = (await namesIn(paths.beforeOpen)).length > 0;
  if (!inherited) {
    await linkFolder(paths.log, paths.linking);
    await rename(paths.linking, paths.beforeOpen);
  }
  return {
    async keep() {
      // First out of the way: half-deleted links must not be taken for the log as it was.
      await rename(paths.beforeOpen, paths.discard);
      await rm(paths.discard, { recursive: true });
    },
    async restore() {
      // After a crash the log may hold more than the links: then it is kept.
      const away = inherited ? await nextDamaged(paths) : paths.discard;
      await rename(paths.log, away);
      await rename(paths.beforeOpen, paths.log);
      if (!inherited) await rm(away, { recursive: true });
    },
  };
}

/** A folder with the same files: linked, or copied where the file system has no links. */
export async function linkFolder(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await linkFolder(source, target);
    else if (entry.isFile()) await linkFile(source, target);
  }
}

async function linkFile(source: string, target: string): Promise<void> {
  try {
    await link(source, target);
  } catch (error) {
    if (!hasCode(error, "EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "ENOSYS", "EXDEV")) throw error;
    await copyFile(source, target);
  }
}
