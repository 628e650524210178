/** Runs before and after all tests: the folder of the programs that they start (`bundled.ts`). */

import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** @param run - The process of vitest, which is the parent of those that run tests. */
export function programsOf(run: number): string {
  return join(tmpdir(), `turnlog-programs-${run}`);
}

export function setup(): void {
  // Of a run that was killed, whose number comes again.
  teardown();
  mkdirSync(programsOf(process.pid));
  // The command reads its version there.
  const manifest = new URL("../../package.json", import.meta.url);
  copyFileSync(manifest, join(programsOf(process.pid), "package.json"));
}

export function teardown(): void {
  rmSync(programsOf(process.pid), { recursive: true, force: true });
}
