/**
 * Owns a store: one owner at a time, over all processes, threads and spellings of the path. Nothing
 * of the store is read or written before. Asks in this order: this process, the kernel, the socket
 * in the folder, LevelDB's lock, the socket again, and `owner.json` about other machines. LevelDB's
 * lock alone is not enough: the owner's process loses it by closing any descriptor of the file.
 */

import { randomUUID } from "node:crypto";
import { existsSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { TurnlogError, hasCode } from "../../../events/index.ts";
import {
  askSocket,
  claimFolder,
  connectToOwner,
  folderId,
  greetingOf,
  isSocketDraft,
  publishSocket,
  thisMachine,
  type FolderClaim,
  type Greeting,
  type OwnerConnection,
  type PublishedSocket,
  type StoreService,
} from "../ownership/index.ts";
import { assertReachable, elsewhereOwned, lockedError } from "./owner.ts";
import { takeLock, type StoreLock } from "./store-lock.ts";
import { namesIn, storePaths, type StorePaths } from "./store-paths.ts";

export interface OwnOptions {
  /** Open a store whose last owner ran on another machine and did not close it. Default: false. */
  readonly takeOver?: boolean | undefined;
}

export interface Ownership {
  /** False once another owner has replaced the socket: then nothing may be written. */
  isHeld(): boolean;
  /** @throws TurnlogError `LOG_LOCKED` once the store is not held */
  readonly assertHeld: () => void;
  release(): Promise<void>;
}

/**
 * `paths`: with the real path of an existing folder. `service`: gets the connections to the socket in it.
 * @throws TurnlogError `LOG_LOCKED`, `LOG_READ_ONLY`, `LOG_FULL`, `LOG_FAILED`
 */
export async function ownStore(
  paths: StorePaths,
  { takeOver = false }: OwnOptions = {},
  service?: StoreService,
): Promise<Ownership> {
  const greeting = newGreeting();
  const claim = await claimFolder(folderId(paths.dir), greeting);
  if ("owner" in claim) {
    // The owner's socket also says whether it shares the store. Without a socket, the kernel names the owner.
    await assertSilent(paths);
    throw lockedError(paths, { owner: claim.owner });
  }
  let lock: StoreLock | undefined;
  try {
    // Before LevelDB opens its lock file: closing that would drop the lock of another thread.
    await assertSilent(paths);
    lock = await takeLock(paths);
    await assertSilent(paths);
    if (!takeOver) assertReachable(paths);
    const socket = await publish(paths, greeting, claim, service);
    return ownershipOf(paths, { claim, lock, socket });
  } catch (error) {
    await lock?.release();
    claim.release();
    throw error;
  }
}

/**
 * Connects to the process that has the store in a folder open. Waits while it is too busy to answer.
 * @returns undefined if there is none, if it does not share the store, or if the signal aborts first.
 * @throws the system's error for another user of the machine
 */
export async function connectToStore(
  dir: string,
  signal: AbortSignal,
): Promise<OwnerConnection | undefined> {
  if (!existsSync(dir)) return undefined;
  return await connectToOwner(storePaths(realpathSync.native(dir)).socket, signal);
}

function newGreeting(): Greeting {
  return greetingOf({
    pid: process.pid,
    ...thisMachine(),
    startedAt: new Date().toISOString(),
    nonce: randomUUID(),
  });
}

/** @throws TurnlogError `LOG_LOCKED` when an owner answers at the store's socket */
async function assertSilent(paths: StorePaths): Promise<void> {
  const answer = await askSocket(paths.socket);
  if (answer.kind === "alive") throw lockedError(paths, { owner: answer.greeting });
}

/** Undefined on a file system without sockets, where the kernel excludes other processes. */
async function publish(
  paths: StorePaths,
  greeting: Greeting,
  { isInKernel }: FolderClaim,
  service: StoreService | undefined,
): Promise<PublishedSocket | undefined> {
  // Windows has no sockets as files.
  if (process.platform === "win32") return undefined;
  for (const name of namesIn(paths.dir).filter(isSocketDraft)) rmSync(join(paths.dir, name));
  let published: Awaited<ReturnType<typeof publishSocket>>;
  try {
    published = await publishSocket(paths.socket, greeting, service);
  } catch (error) {
    if (isInKernel && hasCode(error, "ENOTSUP", "EOPNOTSUPP", "EPERM", "ENOSYS", "EINVAL"))
      return undefined;
    throw error;
  }
  if (!("kind" in published)) return published;
  if (published.kind === "alive") throw lockedError(paths, { owner: published.greeting });
  if (isInKernel) return undefined;
  throw new TurnlogError(
    "LOG_FAILED",
    `The store in ${paths.dir} could not be opened: its folder is on a file system without sockets, so two processes could write to it. Put it on a local disk.`,
  );
}

interface Held {
  readonly claim: FolderClaim;
  readonly lock: StoreLock;
  readonly socket: PublishedSocket | undefined;
}

function ownershipOf(paths: StorePaths, { claim, lock, socket }: Held): Ownership {
  let held = true;
  const isHeld = (): boolean => {
    held &&= socket?.isInPlace() ?? true;
    return held;
  };
  return {
    isHeld,
    assertHeld: () => {
      if (!isHeld()) throw elsewhereOwned(paths);
    },
    release: async () => {
      try {
        await lock.release();
      } finally {
        socket?.release();
        claim.release();
      }
    },
  };
}
