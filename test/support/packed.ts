/**
 * The package as npm would publish it: from the tree's `dist` where nothing changed since it was built, as
 * after `npm run check`, or built from a copy of the tree, since a test writes nothing into the tree itself.
 */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

const root = join(import.meta.dirname, "../..");
const packList = z.array(z.object({ filename: z.string(), size: z.number() })).length(1);

/** What a build reads. `npm ci` writes the last one. */
const sources = [
  "src",
  "studio",
  "bundle.ts",
  "browser-bundle.ts",
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "node_modules/.package-lock.json",
];

/** Packs into a folder of the test's own. */
export async function packed(folder: string): Promise<{ file: string; bytes: number }> {
  const isFresh = await hasFreshBuild(root);
  const cwd = isFresh ? root : await treeCopy(join(folder, "copy"));
  const args = ["pack", "--json", "--pack-destination", folder];
  const { stdout } = await promisify(execFile)(
    "npm",
    isFresh ? [...args, "--ignore-scripts"] : args,
    // In a test's own environment, the studio would be built with what React has for development.
    { cwd, env: { ...process.env, NODE_ENV: "production" } },
  );
  // The build that npm runs first may speak before the list.
  const [one] = packList.parse(JSON.parse(stdout.slice(stdout.indexOf("[\n"))));
  if (one === undefined) throw new Error("npm packed nothing");
  return { file: join(folder, one.filename), bytes: one.size };
}

/** Whether all of `dist` is newer than all that it is built from. */
export async function hasFreshBuild(tree: string): Promise<boolean> {
  // A build writes the studio last, and `turnlog studio` in a clone writes that alone.
  const parts = ["dist/public/index.js", "dist/studio/index.html"];
  if (!parts.every((part) => existsSync(join(tree, part)))) return false;
  const [built, read] = await Promise.all([
    timesOf(tree, ["dist"], "files"),
    timesOf(tree, sources, "folders too"),
  ]);
  return Math.min(...built) > Math.max(...read);
}

/** When each file changed last. A folder changes when a file in it is added or removed. */
async function timesOf(
  tree: string,
  names: readonly string[],
  kind: "files" | "folders too",
): Promise<readonly number[]> {
  const below = await Promise.all(
    names.map(async (name): Promise<readonly number[]> => {
      const path = join(tree, name);
      const found = await stat(path);
      if (!found.isDirectory()) return [found.mtimeMs];
      const inside = (await readdir(path)).map((entry) => join(name, entry));
      const times = await timesOf(tree, inside, kind);
      return kind === "files" ? times : [found.mtimeMs, ...times];
    }),
  );
  return below.flat();
}

async function treeCopy(copy: string): Promise<string> {
  const left = new Set(["node_modules", "dist", ".git", ".turnlog", "coverage", "docs/site"]);
  const filter = (path: string): boolean => !left.has(relative(root, path));
  await cp(root, copy, { recursive: true, filter });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  // `npm run typecheck` checks the sources, which takes five times as long as writing their declarations.
  const config = join(copy, "tsconfig.build.json");
  const text = await readFile(config, "utf8");
  await writeFile(config, text.replace('"noEmit": false', '"noEmit": false, "noCheck": true'));
  return copy;
}
