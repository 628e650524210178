/**
 * The boundary of the folder that the tools may use: resolves a model's path to a real path inside the
 * folder, or refuses it. It must never look at anything outside.
 */
import { hasCode } from "../../events/index.ts";
import { realpathSync, statSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { explainSystemError, folderError } from "./folder-error.ts";
import { keptFolders, type KeptFolders } from "./kept-folders.ts";

export interface LocatedPath {
  readonly real: string;
  /** The name for the model: relative to the folder, with `/` between names; `.` is the folder. */
  readonly name: string;
}

/** The deepest existing part of a path, and the missing names below it. */
interface Reach {
  readonly real: string;
  readonly missing: readonly string[];
}

export interface FolderBoundary {
  /** The folder's real path, fixed when the boundary is made. */
  readonly root: string;
  /** Folders with the state of other programs. */
  readonly kept: KeptFolders;
  contains(real: string): boolean;
  nameOf(real: string): string;
  /** Resolves a path as far as it exists; refuses a path that leaves the folder, also through links. */
  reach(path: string): Promise<Reach>;
  /** Finds an existing path to read; refuses a path outside, in a log, or without a file or folder. */
  locate(path: string): Promise<LocatedPath>;
}

/** `logs`: log folders besides `.turnlog`, neither read nor written. @throws if the folder does not exist */
export function folderBoundary(folder: string, logs: readonly string[] = []): FolderBoundary {
  const given = resolve(folder);
  const root = rootOf(given);
  const kept = keptFolders(root, logs);

  function contains(real: string): boolean {
    return isBelow(root, real);
  }

  function nameOf(real: string): string {
    return relative(root, real).split(sep).join("/") || ".";
  }

  /** Checks the text of the path: refuses an outside path without access to the disk. */
  function absolute(path: string): string {
    if (path.includes("\0"))
      throw folderError("unusable", path, "A path cannot hold a NUL character.");
    const asked = isAbsolute(path) ? resolve(path) : resolve(root, path);
    if (contains(asked)) return asked;
    // The folder may have been given through a link, and the path may use that name.
    if (isBelow(given, asked)) return join(root, relative(given, asked));
    throw outside(path);
  }

  async function reach(path: string): Promise<Reach> {
    let current = absolute(path);
    const missing: string[] = [];
    for (;;) {
      try {
        const real = await realpath(current);
        if (!contains(real)) throw outside(path);
        return { real, missing };
      } catch (error) {
        if (!hasCode(error, "ENOENT", "ENOTDIR") || current === root)
          throw explainSystemError(error, path);
        missing.unshift(basename(current));
        current = dirname(current);
      }
    }
  }

  async function locate(path: string): Promise<LocatedPath> {
    const { real, missing } = await reach(path);
    if (kept.hides(real)) {
      throw folderError(
        "protected",
        path,
        `${path} belongs to the log of the sessions, which is not read by tools.`,
      );
    }
    if (missing.length === 0) return { real, name: nameOf(real) };
    throw folderError("missing", path, `${path} does not exist. List the files to see what does.`);
  }

  return { root, kept, contains, nameOf, reach, locate };
}

function rootOf(folder: string): string {
  try {
    const root = realpathSync.native(folder);
    if (statSync(root).isDirectory()) return root;
  } catch (error) {
    const why = hasCode(error, "ENOENT", "ENOTDIR") ? "does not exist" : "cannot be opened";
    throw folderError("missing", folder, `The folder ${folder} ${why}.`, error);
  }
  throw folderError("not-a-folder", folder, `${folder} is not a folder.`);
}

function isBelow(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function outside(path: string): Error {
  return folderError(
    "outside",
    path,
    `${path} leads out of the folder; only what is inside it may be used. Use a path relative to the folder.`,
  );
}
