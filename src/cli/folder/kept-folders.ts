/**
 * The folders that the tools keep their hands off: they hold other programs' state. A write there
 * could run code (a git hook) or harm a session's log; a look into the log would show other sessions.
 */
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";

/** Never written to, and not walked into; a file in one may be read by name. */
const programNames: readonly string[] = [".git", "node_modules"];
/** Neither written to nor read. */
const logName = ".turnlog";

/** All of them, for people. */
export const keptNames: string = [...programNames, logName].join(", ");

export interface KeptFolders {
  /** Whether a real path is a folder that is not walked into. */
  isKept(real: string): boolean;
  /** Whether a real path is a kept folder or lies in one: nothing is written there. */
  holds(real: string): boolean;
  /** Whether a real path is a log's folder or lies in one: nothing is read there. */
  hides(real: string): boolean;
}

/** @param logs - Further folders, absolute or relative to the root, that are treated as a log's. */
export function keptFolders(root: string, logs: readonly string[]): KeptFolders {
  const further = new Set(
    logs.map((folder) => {
      const path = resolve(root, folder);
      return existsSync(path) ? realpathSync.native(path) : path;
    }),
  );
  const isLog = (real: string): boolean => nameOf(real) === logName || further.has(real);
  const isKept = (real: string): boolean => isLog(real) || programNames.includes(nameOf(real));

  function isBelow(real: string, one: (real: string) => boolean): boolean {
    for (let at = real; at.length > root.length; at = dirname(at)) {
      if (one(at)) return true;
    }
    return false;
  }
  return {
    isKept,
    holds: (real) => isBelow(real, isKept),
    hides: (real) => isBelow(real, isLog),
  };
}

/** In small letters: there are file systems to which `.GIT` is `.git`. */
function nameOf(real: string): string {
  return basename(real).toLowerCase();
}
