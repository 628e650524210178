/**
 * Where an owner listens. On Linux by a name in the kernel, made of the folder's device and inode:
 * it is no file, so nobody can delete it, and none is left when its process dies. On Windows by a named
 * pipe. And everywhere but on Windows by a file in the folder, which other containers see too.
 */

import { mkdtempSync, rmdirSync, statSync, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

/** A folder by its device and inode: the same under every spelling of its path. */
export function folderId(dir: string): string {
  const { dev, ino } = statSync(dir, { bigint: true });
  return `${dev}-${ino}`;
}

/** The name that only one process on this machine can listen on; undefined where there is none. */
export function kernelAddress(id: string): string | undefined {
  if (process.platform === "linux") return `\0turnlog/store/${id}`;
  return process.platform === "win32" ? `\\\\.\\pipe\\turnlog-store-${id}` : undefined;
}

/** Bytes of a socket's path; Linux has room for 107. */
const LONGEST_PATH = 103;

/** Acts on a socket by a path that is short enough, if need be through a link that is gone afterwards. */
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
