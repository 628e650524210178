/** Another commit of turnlog, built beside this one, to be measured in the same run. */

import { execFileSync } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT: string = fileURLToPath(new URL("..", import.meta.url));

/** What a version of turnlog is measured by: its folder, with `dist` built. */
export interface Checkout {
  /** The commit, in short. */
  readonly commit: string;
  /** Its day, as YYYY-MM-DD. */
  readonly day: string;
  readonly folder: string;
}

function git(...words: readonly string[]): string {
  return execFileSync("git", words, { cwd: ROOT, encoding: "utf8" }).trim();
}

/** The commit of this checkout, in short. */
export function currentCommit(): string {
  return git("show", "-s", "--format=%h");
}

function named(commit: string, folder: string): Checkout {
  const [short = "", day = ""] = git("show", "-s", "--format=%h %cs", commit).split(" ");
  return { commit: short, day, folder };
}

/** This checkout as `npm run bench` has built it, with changes that are not committed. */
export function builtHere(): Checkout {
  return named("HEAD", ROOT);
}

/**
 * Its sources in a folder, built. It uses the packages that are installed here, so that only turnlog's own
 * code differs; a commit that needs others fails as it is loaded.
 */
export async function builtAt(commit: string, folder: string): Promise<Checkout> {
  await mkdir(folder);
  const archive = execFileSync("git", ["archive", `${commit}^{commit}`], {
    cwd: ROOT,
    maxBuffer: 1024 ** 3,
  });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  execFileSync(process.execPath, ["bundle.ts"], { cwd: folder, stdio: ["ignore", 2, 2] });
  return named(commit, folder);
}
