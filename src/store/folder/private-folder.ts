/** Folders that only their owner can enter, and whose entries outlive a power cut. */

import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { hasCode } from "../../events/index.ts";

/** What others of the machine may do with a folder and a file: nothing. */
export const PRIVATE_FOLDER = 0o700;
export const PRIVATE_FILE = 0o600;

/**
 * Makes a folder that is private; folders above it are made as usual.
 * @returns The highest that was made, if any was.
 */
export function makePrivateFolder(path: string): string | undefined {
  const above = mkdirSync(dirname(path), { recursive: true });
  const made = mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
  return above ?? made;
}

/** Takes the rights of others to a folder away, also where it was made by an earlier release. */
export function keepPrivate(folder: string): void {
  tighten(folder, statSync(folder).mode, PRIVATE_FOLDER);
}

/** Takes the rights of others to the files right in a folder away. Their folder should be private before. */
export function keepFilesPrivate(folder: string): void {
  // Whoever deletes files meanwhile has made them private enough.
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
    // It belongs to somebody else, or its file system has no rights: then they are not ours to change.
    if (!hasCode(error, "EPERM", "EACCES", "ENOTSUP", "EROFS")) throw error;
  }
}

/** Has what was made, renamed or deleted in a folder outlive a power cut; of a file, what it holds. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder, and has nothing like it.
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Has a folder stay where it is: the folders above it are synced.
 * @param highest - The last of them, where some of them were made too. Default: the next one.
 */
export async function syncAbove(folder: string, highest: string = dirname(folder)): Promise<void> {
  for (let at = dirname(folder); at.length >= highest.length; at = dirname(at)) {
    try {
      await syncFolder(at);
    } catch (error) {
      // It is not ours to read.
      if (!hasCode(error, "EPERM", "EACCES")) throw error;
    }
    if (dirname(at) === at) return;
  }
}
