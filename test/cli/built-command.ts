/**
 * The command line as files of a build, made once for each process of the tests: a command starts from it
 * in half of the time that the thousand files of the sources and packages take.
 */

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundled } from "../support/bundled.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "turnlog-command-"));
process.once("exit", () => {
  rmSync(folder, { recursive: true, force: true });
});
// The command reads its version there.
copyFileSync(join(root, "package.json"), join(folder, "package.json"));

/** The file to start. */
export const main: string = await bundled(
  new URL("../../src/cli/main.ts", import.meta.url),
  join(folder, "src/cli"),
);
