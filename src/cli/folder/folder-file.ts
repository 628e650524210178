/**
 * Opens files inside the boundary. Another process may put a link in a file's place between check and
 * opening: so the kernel is asked for the path of the opened file, and nothing is read or written unless
 * that is the real path inside. Only Linux can be asked: elsewhere the handle is compared with the path
 * by name, which a process that swaps links back and forth can deceive. The worst outcome is an empty
 * file or folder elsewhere, never content.
 */
import { hasCode } from "../../events/index.ts";
import { constants, existsSync } from "node:fs";
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { FolderBoundary, LocatedPath } from "./folder-boundary.ts";
import { explainSystemError, folderError } from "./folder-error.ts";
import { keptNames } from "./kept-folders.ts";

// Must not block on a pipe in the file's place, and must not follow a link.
const safely = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Whether the kernel gives the path of an open handle: Linux does, unless `/proc` is missing. */
export const kernelTellsPaths: boolean =
  process.platform === "linux" && existsSync("/proc/self/fd");

/** A path to the opened file itself, even if its name now leads elsewhere. */
export function pathByHandle(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

export async function isOpenedAt(handle: FileHandle, real: string): Promise<boolean> {
  return (await readlink(pathByHandle(handle))) === real;
}

/** Opens a file for reading; the caller closes it. */
export async function openToRead(
  boundary: FolderBoundary,
  located: LocatedPath,
): Promise<FileHandle> {
  try {
    const stats = await lstat(located.real);
    if (stats.isDirectory()) throw isFolder(located.name);
    if (!stats.isFile()) throw notAFile(located.name);
    const handle = await open(located.real, constants.O_RDONLY | safely);
    return await confirmed(handle, boundary, located);
  } catch (error) {
    throw explainSystemError(error, located.name);
  }
}

/** A file opened for writing, with its old content; the caller truncates and closes it. */
export interface OpenedForWriting {
  readonly handle: FileHandle;
  readonly located: LocatedPath;
  readonly created: boolean;
}

/** Creates the file and missing folders. Refuses links, and hard links, whose other name may be outside. */
export async function openToWrite(
  boundary: FolderBoundary,
  path: string,
): Promise<OpenedForWriting> {
  try {
    const { real, missing } = await boundary.reach(path);
    const name = missing.at(-1);
    if (boundary.kept.holds(join(real, ...missing))) {
      throw folderError(
        "protected",
        path,
        `${path} is in a folder that is never written to (such as ${keptNames}).`,
      );
    }
    if (name === undefined) return await openExisting(boundary, path, real);

    let folder = real;
    for (const part of missing.slice(0, -1))
      folder = await makeFolder(boundary, path, join(folder, part));
    return await openNew(boundary, path, join(folder, name));
  } catch (error) {
    throw explainSystemError(error, path);
  }
}

async function openNew(
  boundary: FolderBoundary,
  path: string,
  real: string,
): Promise<OpenedForWriting> {
  const located = { real, name: boundary.nameOf(real) };
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  try {
    const handle = await open(real, flags | safely, 0o666);
    return { handle: await confirmed(handle, boundary, located), located, created: true };
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
    // Another call has created it, or a broken link is there.
    return openExisting(boundary, path, real);
  }
}

async function openExisting(
  boundary: FolderBoundary,
  path: string,
  real: string,
): Promise<OpenedForWriting> {
  const located = { real, name: boundary.nameOf(real) };
  const stats = await lstat(real);
  if (stats.isSymbolicLink()) throw isLink(path);
  if (stats.isDirectory()) throw isFolder(path);
  if (!stats.isFile()) throw notAFile(path);
  const handle = await confirmed(await open(real, constants.O_WRONLY | safely), boundary, located);
  if ((await handle.stat()).nlink === 1) return { handle, located, created: false };
  await handle.close();
  throw folderError(
    "protected",
    path,
    `${path} has a second name elsewhere (a hard link), so it is not written to.`,
  );
}

async function makeFolder(boundary: FolderBoundary, path: string, folder: string): Promise<string> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
    if ((await lstat(folder)).isSymbolicLink()) throw isLink(path);
  }
  const real = await realpath(folder);
  if (real !== folder || !boundary.contains(real)) throw changed(path);
  return real;
}

/** Returns the handle if it is the file at the located path, inside the folder; else closes it. */
async function confirmed(
  handle: FileHandle,
  boundary: FolderBoundary,
  { real, name }: LocatedPath,
): Promise<FileHandle> {
  try {
    const opened = await handle.stat({ bigint: true });
    const now = await realpath(real);
    const there = await lstat(now, { bigint: true });
    const same = opened.dev === there.dev && opened.ino === there.ino;
    if (!same || now !== real || !boundary.contains(now)) throw changed(name);
    if (kernelTellsPaths && !(await isOpenedAt(handle, real))) throw changed(name);
    if (!opened.isFile()) throw notAFile(name);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function isFolder(name: string): Error {
  return folderError("not-a-file", name, `${name} is a folder, not a file. List it instead.`);
}

function notAFile(name: string): Error {
  return folderError(
    "not-a-file",
    name,
    `${name} is neither a file nor a folder, so it was not opened.`,
  );
}

function isLink(path: string): Error {
  return folderError(
    "protected",
    path,
    `${path} is a link, or goes through one, that leads nowhere; it is not written to.`,
  );
}

function changed(name: string): Error {
  return folderError(
    "changed",
    name,
    `${name} changed while it was being opened. Nothing was read or written; try again.`,
  );
}
