/** Starts of the server of `own-server.ts`, and what became of its processes. */

import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { McpServer } from "../../src/mcp/index.ts";
import type { TemporaryFolder } from "../cli/temporary-folder.ts";
import { builtOnce } from "../support/bundled.ts";

const program = await builtOnce(new URL("own-server.ts", import.meta.url));

export function ownServer(
  { path }: Pick<TemporaryFolder, "path">,
  ...habits: readonly string[]
): McpServer {
  return { command: process.execPath, args: [program, path, ...habits] };
}

/** The processes that were started, in order. */
export function pidsIn(folder: TemporaryFolder): readonly number[] {
  const file = folder.at("pids");
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8").split("\n").slice(0, -1).map(Number);
}

/** What it did that is not answered, in order. */
export function begunIn(folder: TemporaryFolder): readonly string[] {
  const file = folder.at("begun");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie has ended; nobody has asked how.
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

/** Resolves when it is true: another process has to do something first. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(10);
}
