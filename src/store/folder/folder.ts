/** Creates folders that only their owner can enter, and makes names survive a power cut. */

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join, basename, relative, resolve, sep } from "node:path";
import { hasCode } from "../../events/index.ts";

export const PRIVATE_FOLDER = 0o700;
export const PRIVATE_FILE = 0o600;

/** Folders above it get the usual mode. @returns The highest folder that was created, if any. */
export function makePrivateFolder(path: string): string | undefined {
  const above = mkdirSync(dirname(path), { recursive: true });
  const made = mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
  return above ?? made;
}

/** Makes a folder private, in case an earlier release created it. */
export function keepPrivate(folder: string): void {
  tighten(folder, statSync(folder).mode, PRIVATE_FOLDER);
}

/** Makes the files directly in a folder private. The folder should be private already. */
export function keepFilesPrivate(folder: string): void {
  // A file that has been deleted in the meantime needs no change.
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const found = entry.isFile() ? lstatSync(path, { throwIfNoEntry: false }) : undefined;
    if (found !== undefined) tighten(path, found.mode, PRIVATE_FILE);
  }
}

function tighten(path: string, mode: number, wanted: number): void {
  if (process.platform === "win32" || (mode & 0o077) === 0) return;
  try {
    chmodSync(path, wanted);
  } catch (error) {
    // The file belongs to another user, or its file system has no modes.
    if (!hasCode(error, "EPERM", "EACCES", "ENOTSUP", "EROFS")) throw error;
  }
}

/** Changes of names survive a power cut; for a file, its content. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder.
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Syncs the folders above, so that the folder survives a power cut. `highest`: the last of them. */
export async function syncAbove(folder: string, highest: string = dirname(folder)): Promise<void> {
  for (let parent = dirname(folder); parent.length >= highest.length; parent = dirname(parent)) {
    try {
      await syncFolder(parent);
    } catch (error) {
      // This user may not read the folder above.
      if (!hasCode(error, "EPERM", "EACCES")) throw error;
    }
    if (dirname(parent) === parent) return;
  }
}

// Whether a path is inside a folder, following links. Reads names only.

/** True for the folder itself. Neither path has to exist. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(realPath(resolve(folder)), realPath(resolve(path)));
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && resolve("/", way) !== way);
}

/** The most links, as in Linux. */
const LINKS = 40;

/** The real path of the part that exists. A link without a target still counts as its target. */
function realPath(path: string, links = LINKS): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // Unreadable paths are taken literally.
    if (!hasCode(error, "ENOENT", "ENOTDIR") || dirname(path) === path) return path;
  }
  const resolved = join(realPath(dirname(path), links), basename(path));
  const target = links === 0 ? undefined : targetOf(resolved);
  return target === undefined ? resolved : realPath(resolve(dirname(resolved), target), links - 1);
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    // Not a link, or nothing exists there.
    if (hasCode(error, "EINVAL", "ENOENT", "ENOTDIR", "UNKNOWN")) return undefined;
    throw error;
  }
}
