/**
 * A program that a test starts many times, as one file: each process loads it in 0.2 s of CPU, and the
 * thousand files of the sources and packages in 0.5 s.
 */

import { existsSync, mkdirSync, renameSync, rmdirSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { programsFolder } from "./programs.ts";

/**
 * Bundles a program once for all processes of a run: the first one that asks, while the others wait. Returns the file
 * to start.
 */
export async function builtOnce(program: URL): Promise<string> {
  const name = basename(program.pathname, ".ts");
  const folder = join(programsFolder(), "programs", name);
  const lock = `${folder}.lock`;
  await mkdir(dirname(folder), { recursive: true });
  while (!existsSync(folder)) {
    if (!hasMade(lock)) {
      await delay(20);
      continue;
    }
    const draft = `${folder}.${process.pid}`;
    try {
      await bundled(program, draft);
      renameSync(draft, folder);
    } finally {
      rmdirSync(lock);
    }
  }
  return join(folder, `${name}.mjs`);
}

/** Whether this process has made the folder, which no other one can then. */
function hasMade(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Bundles a program into an empty folder of the test's own. Returns the file to start.
 * `define`: names in the program, and the code in their place.
 */
export async function bundled(
  program: URL,
  folder: string,
  define: Readonly<Record<string, string>> = {},
): Promise<string> {
  const name = basename(program.pathname, ".ts");
  await mkdir(folder, { recursive: true });
  // Native code stays where it is.
  await symlink(
    fileURLToPath(new URL("../../node_modules", import.meta.url)),
    join(folder, "node_modules"),
  );
  await build({
    input: fileURLToPath(program),
    platform: "node",
    external: ["level", "sharp"],
    tsconfig: fileURLToPath(new URL("../../tsconfig.json", import.meta.url)),
    logLevel: "silent",
    transform: { define: { ...define } },
    output: { dir: folder, format: "esm", entryFileNames: "[name].mjs" },
  });
  return join(folder, `${name}.mjs`);
}
