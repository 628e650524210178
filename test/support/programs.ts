/** Runs before and after all tests: the folder of the programs that they start (`bundled.ts`). */

import { chmodSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const NAME = "TURNLOG_PROGRAMS";

/** The folder of this run, which all its processes inherit. */
export function programsFolder(): string {
  const folder = process.env[NAME];
  if (folder === undefined)
    throw new Error("Programs are bundled in the tests: run this by vitest.");
  return folder;
}

export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "turnlog-programs-"));
  // A test may start them as another user.
  chmodSync(folder, 0o755);
  // The command reads its version there.
  copyFileSync(new URL("../../package.json", import.meta.url), join(folder, "package.json"));
  process.env[NAME] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
