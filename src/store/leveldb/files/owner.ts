/** `owner.json`: who writes to the store, from which machine and how. It outlives its process. */

import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { z } from "zod";
import { TurnlogError } from "../../../events/index.ts";
import type { Greeting } from "../ownership/owner-socket.ts";
import { draftJsonFile, readJsonFile, type JsonDraft } from "./json-file.ts";
import type { StorePaths } from "./store-files.ts";
import { readFileSync } from "node:fs";

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
      `The store in ${dir} was opened by process ${pid} on ${host}, another machine, at ${startedAt}, and has not been closed since. Turnlog cannot see from here whether that process is still alive. Make sure that it has ended, then open the store with --take-over (\`takeOver: true\` in a program).`,
      { details: { pid, host, startedAt, isElsewhere: true } },
    );
  }
}

/** Milliseconds in which an owner that is passing leaves, or a busy one answers. */
export const PATIENCE_MS = 10_000;

/**
 * The state of an owner that refuses only for now. `passing`: it reads, opens or closes the store. `silent`: it
 * is too busy to answer, or was stopped.
 */
type Standing = "passing" | "silent";

interface Holder {
  readonly owner?: Greeting | undefined;
  /** Whether it did not answer. */
  readonly isSilent?: boolean;
  readonly cause?: unknown;
}

/** Whether a refusal may be over in a moment. */
export function isMomentary(error: unknown): boolean {
  return TurnlogError.isInstance(error) && standings.includes(error.details["standing"]);
}

const standings: readonly unknown[] = ["passing", "silent"] satisfies readonly Standing[];

/** The owner of a store, or undefined where its files do not tell, or name a process that has ended. */
function ownerOf({ owner: file }: StorePaths): Owner | undefined {
  const found = readJsonFile(file, ownerSchema);
  return typeof found === "string" || isGone(found) ? undefined : found;
}

/** The error for an owner that listens and did not answer. */
export function silentError(paths: StorePaths): TurnlogError {
  const found = ownerOf(paths);
  const who = found === undefined ? "Another process" : `Process ${found.pid} on ${found.host}`;
  const standing: Standing = "silent";
  return new TurnlogError(
    "LOG_LOCKED",
    `${who} has the store in ${paths.dir} open and has not answered for ${PATIENCE_MS / 1000} seconds: it is busy, or was stopped. Try again later, or end that process.`,
    { details: { ...(found === undefined ? {} : { pid: found.pid }), standing } },
  );
}

export function lockedError(
  paths: StorePaths,
  { owner, isSilent = false, cause }: Holder,
): TurnlogError {
  if (isSilent) return silentError(paths);
  const { dir } = paths;
  const found = owner ?? ownerOf(paths);
  const passing: Standing = "passing";
  if (found === undefined) {
    return new TurnlogError(
      "LOG_LOCKED",
      `The store in ${dir} is being opened or closed by another process. Try again in a moment.`,
      { cause, details: { standing: passing } },
    );
  }
  const { pid, host, startedAt } = found;
  const isOurs = pid === process.pid && host === hostname();
  const who = isOurs ? `this process (pid ${pid})` : `process ${pid} on ${host}`;
  if (owner?.isPassing === true && !isOurs) {
    return new TurnlogError(
      "LOG_LOCKED",
      `The store in ${dir} has been in use by ${who} since ${startedAt}, which is reading, opening or closing it. This process waited ${PATIENCE_MS / 1000} seconds: try again when that one has ended.`,
      { details: { pid, host, startedAt, standing: passing } },
    );
  }
  const through =
    isOurs || owner?.serves === undefined
      ? ""
      : `, use it through that process (\`turnlog --dir ${JSON.stringify(dir)} …\` does, and a program does through its server)`;
  return new TurnlogError(
    "LOG_LOCKED",
    `The store in ${dir} has been open in ${who} since ${startedAt}. Close it there${through}, or use another folder.`,
    { details: { pid, host, startedAt }, cause },
  );
}

/** The error for an owner that lost its store to another process. */
export function elsewhereOwned({ dir }: StorePaths): TurnlogError {
  return new TurnlogError(
    "LOG_LOCKED",
    `Another process has since opened the store in ${dir}. Nothing more is written here.`,
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

// Identifies the machine of a process, to tell a dead owner from one on another machine.

/** Empty strings if the system does not tell. */
interface Machine {
  readonly host: string;
  /** New at each start of the kernel; containers on one kernel share it. */
  readonly boot: string;
  /** Survives restarts. */
  readonly machine: string;
}

let own: Machine | undefined;

export function thisMachine(): Machine {
  own ??= {
    host: hostname(),
    boot: textOf("/proc/sys/kernel/random/boot_id"),
    machine: textOf("/etc/machine-id"),
  };
  return own;
}

/**
 * Whether an owner that does not answer may be alive on another machine. A process on this kernel
 * would have answered; one from before a restart of this machine is dead.
 */
export function isElsewhere(owner: Machine, here: Machine = thisMachine()): boolean {
  if (owner.boot !== "" && owner.boot === here.boot) return false;
  if (owner.host !== here.host || owner.machine !== here.machine) return true;
  // Two machines may share a name. Without a boot id, the name is all that is known.
  return owner.machine === "" && (owner.boot !== "" || here.boot !== "");
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    // Only Linux has these files, and a container may lack them.
    return "";
  }
}
