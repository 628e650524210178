/**
 * A program that a test starts many times, as one file: each process loads it in 0.2 s of CPU, and the
 * thousand files of the sources and packages in 0.5 s.
 */

import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

/** Bundles a program for all that this process starts of it. Returns the file to start. */
export async function builtOnce(program: URL): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "turnlog-program-"));
  // A test may start it as another user.
  chmodSync(folder, 0o755);
  process.once("exit", () => {
    rmSync(folder, { recursive: true, force: true });
  });
  return await bundled(program, folder);
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
