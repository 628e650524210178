/**
 * The folders that the tools must not change: they hold the state of other programs. A write could run
 * code (a git hook) or damage a log; reading the log would show other sessions.
 */
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";

/** Never written to and not entered by a walk; a file in one may be read by name. */
const programNames: readonly string[] = [".git", "node_modules"];
/** Neither written to nor read. */
const logName = ".turnlog";

/** All names, for messages. */
export const keptNames: string = [...programNames, logName].join(", ");

export interface KeptFolders {
  /** Whether a real path is a kept folder: a walk does not enter it. */
  isKept(real: string): boolean;
  /** Whether a real path is a kept folder or in one: nothing is written there. */
  holds(real: string): boolean;
  /** Whether a real path is a log's folder or in one: nothing is read there. */
  hides(real: string): boolean;
}

/** @param logs - Further log folders, absolute or relative to the root. */
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
    for (let path = real; path.length > root.length; path = dirname(path)) {
      if (one(path)) return true;
    }
    return false;
  }
  return {
    isKept,
    holds: (real) => isBelow(real, isKept),
    hides: (real) => isBelow(real, isLog),
  };
}

/** In lower case: some file systems take `.GIT` for `.git`. */
function nameOf(real: string): string {
  return basename(real).toLowerCase();
}
