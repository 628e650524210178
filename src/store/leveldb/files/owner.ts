/** `owner.json`: who writes to the store, from which machine and how. It outlives its process. */

import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { z } from "zod";
import { TurnlogError } from "../../../events/index.ts";
import { isElsewhere, thisMachine, type Greeting } from "../ownership/index.ts";
import { draftJsonFile, readJsonFile, type JsonDraft } from "./json-file.ts";
import type { StorePaths } from "./store-paths.ts";

interface Owner {
  readonly pid: number;
  readonly host: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly durability: Durability;
  /** As in `Machine`. The first release did not write them. */
  readonly boot?: string;
  readonly machine?: string;
}

/** `sync`: an appended event is on disk. `os`: it survives the death of the process, not a power cut. */
export type Durability = "sync" | "os";

const ownerSchema: z.ZodType<Owner> = z.object({
  pid: z.int().positive(),
  host: z.string(),
  startedAt: z.string(),
  durability: z.enum(["sync", "os"]),
  boot: z.string().exactOptional(),
  machine: z.string().exactOptional(),
});

/** Other machines read the draft too. In place, it tells how the process wrote, in case it dies. */
export function draftOwner({ owner }: StorePaths, durability: Durability): JsonDraft {
  const now: Owner = {
    pid: process.pid,
    startedAt: new Date().toISOString(),
    durability,
    ...thisMachine(),
  };
  return draftJsonFile(owner, now);
}

/** The durability of the previous owner, if it died without closing the store. */
export function diedAs({ owner }: StorePaths): Durability | "unknown" | undefined {
  const found = readJsonFile(owner, ownerSchema);
  if (found === "none") return undefined;
  return found === "unreadable" ? "unknown" : found.durability;
}

export async function removeOwner({ owner }: StorePaths): Promise<void> {
  await rm(owner, { force: true });
}

/** @throws TurnlogError `LOG_LOCKED` when a live owner may be on another machine */
export function assertReachable({ dir, owner }: StorePaths): void {
  for (const file of [`${owner}.new`, owner]) {
    const found = readJsonFile(file, ownerSchema);
    if (typeof found === "string") continue;
    const { pid, host, startedAt, boot, machine } = found;
    // The first release did not record its machine: its lock decides.
    if (boot === undefined || machine === undefined) continue;
    if (!isElsewhere({ host, boot, machine })) continue;
    throw new TurnlogError(
      "LOG_LOCKED",
      `The store in ${dir} was opened by process ${pid} on ${host}, another machine, at ${startedAt}, and was not closed since. Turnlog cannot see from here whether that process lives. Make sure that it has ended, then open the store with --take-over (\`takeOver: true\` in a program).`,
      { details: { pid, host, startedAt, isElsewhere: true } },
    );
  }
}

export function lockedError(
  { dir, owner: file }: StorePaths,
  { owner, cause }: { readonly owner?: Greeting | undefined; readonly cause?: unknown },
): TurnlogError {
  const found = owner ?? readJsonFile(file, ownerSchema);
  if (typeof found === "string" || (owner === undefined && isGone(found))) {
    return new TurnlogError(
      "LOG_LOCKED",
      `The store in ${dir} is being opened or closed by another process. Try again in a moment.`,
      { cause },
    );
  }
  const { pid, host, startedAt } = found;
  const isOurs = pid === process.pid && host === hostname();
  const who = isOurs ? `this process (pid ${pid})` : `process ${pid} on ${host}`;
  const through =
    isOurs || owner?.serves === undefined
      ? ""
      : `, use it through that process (\`turnlog --dir ${JSON.stringify(dir)} …\` does, and a program does through its server)`;
  return new TurnlogError(
    "LOG_LOCKED",
    `The store in ${dir} is open in ${who} since ${startedAt}. Close it there${through}, or use another folder.`,
    { details: { pid, host, startedAt }, cause },
  );
}

/** The error for an owner that lost its store to another process. */
export function elsewhereOwned({ dir }: StorePaths): TurnlogError {
  return new TurnlogError(
    "LOG_LOCKED",
    `The store in ${dir} has been opened by another process since. Nothing more is written here.`,
  );
}

function isGone({ pid, host }: Pick<Owner, "pid" | "host">): boolean {
  if (host !== hostname()) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
