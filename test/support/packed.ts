/** The package as npm would publish it, built from a copy of the tree: the tree's own `dist` is not used. */

import { execFile } from "node:child_process";
import { cp, symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

const root = join(import.meta.dirname, "../..");
const packList = z.array(z.object({ filename: z.string(), size: z.number() })).length(1);

/** Packs into a folder of the test's own. */
export async function packed(folder: string): Promise<{ file: string; bytes: number }> {
  const copy = join(folder, "copy");
  const left = new Set(["node_modules", "dist", ".git", ".turnlog", "coverage", "docs/site"]);
  const filter = (path: string): boolean => !left.has(relative(root, path));
  await cp(root, copy, { recursive: true, filter });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  const args = ["pack", "--json", "--pack-destination", folder];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: copy });
  // The build that npm runs first may speak before the list.
  const [one] = packList.parse(JSON.parse(stdout.slice(stdout.indexOf("[\n"))));
  if (one === undefined) throw new Error("npm packed nothing");
  return { file: join(folder, one.filename), bytes: one.size };
}
