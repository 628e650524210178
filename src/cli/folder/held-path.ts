/**
 * Where that lies what a handle holds, as the kernel says: one look, so nobody can change it in between.
 * Looks by name can each be right and still mean different things. Used where the folder's files and
 * folders are opened.
 */
import { existsSync } from "node:fs";
import { readlink, type FileHandle } from "node:fs/promises";

/** Linux says it, unless `/proc` is missing, as in a bare chroot. Elsewhere Node cannot ask. */
export const kernelTellsPaths: boolean =
  process.platform === "linux" && existsSync("/proc/self/fd");

/** Leads to what the handle holds, whatever takes the place of its name. */
export function pathByHandle(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** Whether what the handle holds lies at the real path now. */
export async function liesAt(handle: FileHandle, real: string): Promise<boolean> {
  return (await readlink(pathByHandle(handle))) === real;
}
