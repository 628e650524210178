/**
 * Where an owner listens. Linux: a kernel name with the folder's device and inode, which cannot be deleted.
 * Windows: a named pipe. Except on Windows also a file in the folder, which other containers see.
 */

import { mkdtempSync, rmdirSync, statSync, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

/** A folder by device and inode: the same for every spelling of its path. */
export function folderId(dir: string): string {
  const { dev, ino } = statSync(dir, { bigint: true });
  return `${dev}-${ino}`;
}

/** The address on which only one process of this machine can listen; undefined if there is none. */
export function kernelAddress(id: string): string | undefined {
  if (process.platform === "linux") return `\0turnlog/store/${id}`;
  return process.platform === "win32" ? `\\\\.\\pipe\\turnlog-store-${id}` : undefined;
}

/** The longest socket path in bytes; Linux allows 107. */
const LONGEST_PATH = 103;

/** Uses a socket by a short path, if necessary through a temporary link. */
export async function withSocketPath<Result>(
  path: string,
  act: (path: string) => Promise<Result>,
): Promise<Result> {
  if (Buffer.byteLength(path) <= LONGEST_PATH) return await act(path);
  // Only this user can enter it.
  const folder = mkdtempSync(join(tmpdir().length < 60 ? tmpdir() : "/tmp", "t-"));
  const link = join(folder, "s");
  symlinkSync(dirname(path), link);
  try {
    return await act(join(link, basename(path)));
  } finally {
    unlinkSync(link);
    rmdirSync(folder);
  }
}
