/**
 * Installs the peers into `bench/peers`, as its lock file says, and compiles what one of them has to have compiled. No
 * script of theirs is run: all native code that they need comes built. What is missing shows when it is loaded.
 */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Contender } from "./contenders.ts";

const PEERS = fileURLToPath(new URL("../peers", import.meta.url));
const OURS = fileURLToPath(new URL("../..", import.meta.url));

/** Progress goes to stderr. @returns what went wrong, if anything did */
export function installPeers(): string | undefined {
  const failure = isInstalled()
    ? undefined
    : npm("ci", "--ignore-scripts", "--no-audit", "--no-fund");
  return failure ?? npm("run", "build", "--silent");
}

function npm(...told: readonly string[]): string | undefined {
  const { status, error } = spawnSync("npm", told, { cwd: PEERS, stdio: ["ignore", 2, 2] });
  if (status === 0) return undefined;
  return `npm ${told.join(" ")} in bench/peers failed: ${error?.message ?? `exit code ${status}`}`;
}

function isInstalled(): boolean {
  const installed = join(PEERS, "node_modules", ".package-lock.json");
  if (!existsSync(installed)) return false;
  return statSync(installed).mtimeMs >= statSync(join(PEERS, "package-lock.json")).mtimeMs;
}

const packageSchema = z.object({ version: z.string() });

/** The versions that are there; `missing` where one is not. */
export function versionsOf({ packages, isInstalledApart }: Contender): Record<string, string> {
  const root = join(isInstalledApart ? PEERS : OURS, "node_modules");
  return Object.fromEntries(
    packages.map((name) => {
      const file = join(root, name, "package.json");
      if (!existsSync(file)) return [name, "missing"];
      return [name, packageSchema.parse(JSON.parse(readFileSync(file, "utf8"))).version];
    }),
  );
}
