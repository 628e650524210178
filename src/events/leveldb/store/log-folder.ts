/** Which of the files in LevelDB's folder belong to the database, and how to lay a copy of it. */

import { copyFile, link, mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { readManifest } from "../format/manifest.ts";
import { hasCode, namesIn } from "./store-paths.ts";

/** One of LevelDB's files; its size in bytes. */
export interface LogFile {
  readonly path: string;
  readonly size: number;
}

/** Files with an ending, newest first. */
export async function filesOf(
  folder: string,
  ending: ".ldb" | ".log",
): Promise<readonly LogFile[]> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith(ending)).toSorted();
  const files: LogFile[] = [];
  for (const name of names.toReversed()) {
    const path = join(folder, name);
    files.push({ path, size: (await stat(path)).size });
  }
  return files;
}

/** Plain bytes: cutting pieces from a `Buffer` costs several times as much. */
export async function bytesOf(path: string): Promise<Uint8Array> {
  const { buffer, byteOffset, length } = await readFile(path);
  return new Uint8Array(buffer, byteOffset, length);
}

/** Those that the manifest names; others were cut off by a kill, or are about to be deleted. */
export async function liveFiles(
  folder: string,
): Promise<{ readonly tables: readonly LogFile[]; readonly logs: readonly LogFile[] }> {
  const current = await readFile(join(folder, "CURRENT"), "utf8");
  const { tables, firstLog, previousLog } = readManifest(
    await readFile(join(folder, current.trim())),
  );
  const isLive = (number: number): boolean => number >= firstLog || number === previousLog;
  return {
    tables: (await filesOf(folder, ".ldb")).filter(({ path }) => tables.has(numberOfFile(path))),
    logs: (await filesOf(folder, ".log")).filter(({ path }) => isLive(numberOfFile(path))),
  };
}

function numberOfFile(path: string): number {
  return Number.parseInt(basename(path), 10);
}

/**
 * Lays a copy of the folder. Files of the database are linked, since LevelDB never writes to them
 * again; all others are copied, since it may give their numbers to new files and write over them.
 */
export async function linkFolder(from: string, to: string): Promise<void> {
  const { tables, logs } = await liveFiles(from);
  const live = new Set([...tables, ...logs].map(({ path }) => basename(path)));
  await copyFolder(from, to, live);
}

async function copyFolder(from: string, to: string, linked: ReadonlySet<string>): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyFolder(source, target, new Set());
    else if (linked.has(entry.name)) await linkFile(source, target);
    else if (entry.isFile()) await copyFile(source, target);
  }
}

async function linkFile(source: string, target: string): Promise<void> {
  try {
    await link(source, target);
  } catch (error) {
    // A file system without links.
    if (!hasCode(error, "EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "ENOSYS", "EXDEV")) throw error;
    await copyFile(source, target);
  }
}
