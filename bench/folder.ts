/** Temporary folders for stores, and their sizes. */

import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs something in a new folder, which is gone afterwards. */
export async function inFolder<Result>(run: (dir: string) => Promise<Result>): Promise<Result> {
  const dir = await mkdtemp(join(tmpdir(), "turnlog-bench-"));
  try {
    return await run(dir);
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** Bytes of all files in a folder and below. */
export async function bytesIn(dir: string): Promise<number> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
