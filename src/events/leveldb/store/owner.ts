/** `owner.json`: tells who has the store open. Only the lock decides; this gives it a name. */

import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { z } from "zod";
import { TurnlogError } from "../../errors.ts";
import { draftJsonFile, readJsonFile, type JsonDraft } from "./json-file.ts";
import type { StorePaths } from "./store-paths.ts";

interface Owner {
  readonly pid: number;
  readonly host: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly durability: Durability;
}

/** `sync`: appended means on disk. `os`: survives the death of the process, not a power cut. */
export type Durability = "sync" | "os";

const ownerSchema: z.ZodType<Owner> = z.object({
  pid: z.int().positive(),
  host: z.string(),
  startedAt: z.string(),
  durability: z.enum(["sync", "os"]),
});

/** Told to others once it is put in its place. */
export function claim({ owner }: StorePaths, durability: Durability): JsonDraft {
  const now: Owner = {
    pid: process.pid,
    host: hostname(),
    startedAt: new Date().toISOString(),
    durability,
  };
  return draftJsonFile(owner, now);
}

/** How the process that had the store before was writing, when it died without closing it. */
export function diedAs({ owner }: StorePaths): Durability | "unknown" | undefined {
  const found = readJsonFile(owner, ownerSchema);
  if (found === "none") return undefined;
  return found === "unreadable" ? "unknown" : found.durability;
}

export async function disclaim({ owner }: StorePaths): Promise<void> {
  await rm(owner, { force: true });
}

/** The error for whoever finds the store locked. */
export function lockedError({ dir, owner }: StorePaths, cause: unknown): TurnlogError {
  const found = readJsonFile(owner, ownerSchema);
  if (typeof found === "string" || isGone(found)) {
    return new TurnlogError(
      "LOG_LOCKED",
      `The store in ${dir} is being opened or closed by another process. Try again in a moment.`,
      { cause },
    );
  }
  const who =
    found.pid === process.pid && found.host === hostname()
      ? `this process (pid ${found.pid})`
      : `process ${found.pid} on ${found.host}`;
  return new TurnlogError(
    "LOG_LOCKED",
    `The store in ${dir} is open in ${who} since ${found.startedAt}. Close it there, or use another folder.`,
    { details: { ...found }, cause },
  );
}

/** A file that a dead process left behind names nobody. */
function isGone({ pid, host }: Owner): boolean {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
