/**
 * Owns a store: one owner at a time, over all processes, threads and spellings of the path. Nothing
 * of the store is read or written before. Asks in this order: this process, the kernel, the socket
 * in the folder, LevelDB's lock, the socket again, and `owner.json` about other machines. LevelDB's
 * lock alone is not enough: the owner's process loses it by closing any descriptor of the file.
 */

import { randomUUID } from "node:crypto";
import { existsSync, realpathSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { connect, type Socket, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { TurnlogError, hasCode } from "../../../events/index.ts";
import {
  askSocket,
  isSocketDraft,
  publishSocket,
  type PublishedSocket,
  folderId,
  withSocketPath,
  greetingOf,
  type Greeting,
  type StoreService,
  greetingOn,
  askAt,
  listenAt,
  kernelAddress,
} from "../ownership/owner-socket.ts";
import { isLocked, storeFailure } from "../../row-engine/rows/failures.ts";
import { levelAt, type LevelDb } from "./level.ts";
import {
  thisMachine,
  assertReachable,
  elsewhereOwned,
  isMomentary,
  lockedError,
  PATIENCE_MS,
  silentError,
} from "./owner.ts";
import { namesIn, storePaths, type StorePaths } from "./store-files.ts";

export interface OwnOptions {
  /** Open a store whose last owner ran on another machine and did not close it. Default: false. */
  readonly takeOver?: boolean | undefined;
}

export interface Ownership {
  /** False once another owner has replaced the socket: then nothing may be written. */
  isHeld(): boolean;
  /** @throws TurnlogError `LOG_LOCKED` once the store is not held */
  readonly assertHeld: () => void;
  /** Tells other processes whether the store is worth waiting for: true while it is read, opened or closed. */
  pass(isPassing: boolean): void;
  release(): Promise<void>;
}

/** Milliseconds between two tries. */
const PAUSE_MS = 25;

/**
 * `paths`: with the real path of an existing folder. `service`: gets the connections to the socket in it; the
 * owner is passing until its user says otherwise. Waits up to 10 seconds for another process that is passing, or
 * too busy to answer.
 * @throws TurnlogError `LOG_LOCKED`, `LOG_READ_ONLY`, `LOG_FULL`, `LOG_FAILED`
 */
export async function ownStore(
  paths: StorePaths,
  options: OwnOptions = {},
  service: StoreService = {},
): Promise<Ownership> {
  service.isPassing = true;
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await ownNow(paths, options, service);
    } catch (error) {
      if (!isMomentary(error) || performance.now() >= end) throw error;
      await wait(PAUSE_MS);
    }
  }
}

async function ownNow(
  paths: StorePaths,
  { takeOver = false }: OwnOptions,
  service: StoreService,
): Promise<Ownership> {
  const greeting = newGreeting();
  const claim = await claimFolder(folderId(paths.dir), greeting, service);
  if ("owner" in claim) {
    // The owner's socket also says whether it shares the store. Without a socket, the kernel names the owner.
    await assertSilent(paths);
    throw lockedError(paths, { owner: claim.owner, isSilent: claim.owner === undefined });
  }
  let lock: StoreLock | undefined;
  try {
    // Before LevelDB opens its lock file: closing that would drop the lock of another thread.
    await assertSilent(paths);
    lock = await takeLock(paths);
    await assertSilent(paths);
    if (!takeOver) assertReachable(paths);
    const socket = await publish(paths, greeting, claim, service);
    return ownershipOf(paths, { claim, lock, socket, service });
  } catch (error) {
    await lock?.release();
    claim.release();
    throw error;
  }
}

/**
 * Connects to the process that has the store in a folder open. Waits while it is too busy to answer.
 * @throws the system's error for another user of the machine
 */
export async function connectToStore(dir: string, signal: AbortSignal): Promise<OwnerConnection> {
  if (!existsSync(dir)) return { kind: "gone" };
  return await connectToOwner(storePaths(realpathSync.native(dir)).socket, signal);
}

/**
 * Connects to the process that serves the store in a folder. Waits up to 10 seconds for one that is passing, or too
 * busy to answer.
 * @returns undefined if nobody serves it.
 * @throws TurnlogError `LOG_LOCKED` if it has not answered by then
 */
export async function reachOwner(dir: string): Promise<ServingOwner | undefined> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  for (;;) {
    const reached = await connectToStore(dir, patience);
    if (reached.kind === "serving") return reached;
    if (reached.kind === "silent") throw silentError(storePaths(realpathSync.native(dir)));
    if (reached.kind !== "passing" || patience.aborted) return undefined;
    await wait(PAUSE_MS);
  }
}

type ServingOwner = Extract<OwnerConnection, { readonly kind: "serving" }>;

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
  if (answer.kind !== "alive") return;
  throw lockedError(paths, { owner: answer.greeting, isSilent: answer.greeting === undefined });
}

/** Undefined on a file system without sockets, where the kernel excludes other processes. */
async function publish(
  paths: StorePaths,
  greeting: Greeting,
  { isInKernel }: FolderClaim,
  service: StoreService,
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
  if (published.kind === "alive") {
    const { greeting: owner } = published;
    throw lockedError(paths, { owner, isSilent: owner === undefined });
  }
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
  readonly service: StoreService;
}

function ownershipOf(paths: StorePaths, { claim, lock, socket, service }: Held): Ownership {
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
    pass: (isPassing) => {
      service.isPassing = isPassing;
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

// One process at a time, by LevelDB's lock, which ends with its process. LevelDB takes its lock
// only while it rewrites the folder, so an empty LevelDB beside the log is locked first.

interface StoreLock {
  release(): Promise<void>;
}

/** @throws TurnlogError `LOG_LOCKED`, `LOG_READ_ONLY`, `LOG_FULL`, `LOG_FAILED` */
async function takeLock(paths: StorePaths): Promise<StoreLock> {
  const database = await openLock(paths, true);
  return { release: () => database.close() };
}

async function openLock(paths: StorePaths, mayClear: boolean): Promise<LevelDb> {
  const database = await levelAt(paths.lock, !existsSync(join(paths.lock, "CURRENT")));
  try {
    await database.open();
    return database;
  } catch (error) {
    if (isLocked(error)) throw lockedError(paths, { cause: error });
    const failure = storeFailure(error, paths.dir);
    if (failure.code !== "LOG_DAMAGED" || !mayClear) throw failure;
    await clearLock(paths);
    return openLock(paths, false);
  }
}

/** A power cut can leave the lock's LevelDB unreadable. `LOCK` stays: its holder needs it. */
async function clearLock({ lock }: StorePaths): Promise<void> {
  for (const name of namesIn(lock)) {
    if (name !== "LOCK") await rm(join(lock, name), { force: true });
  }
}

// Connects to the owner of a store, to use the store through it. Called for each request.

type OwnerConnection =
  /** The socket is silent until the first request. */
  | { readonly kind: "serving"; readonly greeting: Greeting; readonly socket: Socket }
  /** `passing`: it is about to leave the store, or to serve it. `alone`: it serves nothing. */
  | { readonly kind: "passing" | "alone"; readonly greeting: Greeting }
  /** `gone`: nobody listens. `silent`: the signal aborted before the greeting came. */
  | { readonly kind: "gone" | "silent" };

/**
 * Connects to the socket at a path. An owner that is busy greets late: it is waited for as long as it lives.
 * @throws the system's error when the result is unclear
 */
async function connectToOwner(path: string, signal: AbortSignal): Promise<OwnerConnection> {
  return await withSocketPath(path, async (short) => await greeted(connect(short), signal));
}

async function greeted(socket: Socket, signal: AbortSignal): Promise<OwnerConnection> {
  let connection: OwnerConnection = { kind: "gone" };
  try {
    const greeting = await greetingOn(socket, signal);
    if (greeting?.serves !== undefined) connection = { kind: "serving", greeting, socket };
    else if (greeting !== undefined)
      connection = { kind: greeting.isPassing === true ? "passing" : "alone", greeting };
    else if (signal.aborted) connection = { kind: "silent" };
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE")) throw error;
  }
  if (connection.kind !== "serving") socket.destroy();
  return connection;
}

// Claims a folder in this process and on this machine without touching a file: by a registry in the process, and by a
// kernel name on which only one process can listen.

export interface FolderClaim {
  /** Whether the kernel excludes all other processes of this machine. */
  readonly isInKernel: boolean;
  release(): void;
}

/** The owner that has the folder already; without a greeting if it is too busy. */
export interface OtherOwner {
  readonly owner: Greeting | undefined;
}

/** How often to try an owner that listens but does not greet: it may be busy, or about to end. */
const MOST_ASKED = 3;

const registry = Symbol.for("turnlog.stores");
const shared: typeof globalThis & { [registry]?: Map<string, Greeting> } = globalThis;

/** The folders that this thread owns, by id, including those of another copy of this package. */
function owned(): Map<string, Greeting> {
  return (shared[registry] ??= new Map());
}

/**
 * @param id - Of the folder, as `folderId` makes it.
 * @param standing - Whether the owner is passing. Nothing is served by the kernel's name, which is open to all users.
 */
export async function claimFolder(
  id: string,
  greeting: Greeting,
  standing: Pick<StoreService, "isPassing">,
): Promise<FolderClaim | OtherOwner> {
  const taken = owned().get(id);
  if (taken !== undefined) return { owner: taken };
  // Set before any await: of two openings in this thread one is refused.
  owned().set(id, greeting);
  try {
    let server = await listenInKernel(id, greeting, standing);
    for (let asked = 1; server === "taken"; asked++) {
      const answer = await askAt(kernelAddress(id) ?? "");
      const owner = answer.kind === "alive" ? answer.greeting : undefined;
      if (owner !== undefined || asked === MOST_ASKED) {
        owned().delete(id);
        return { owner };
      }
      // A process that is being started has the sockets of the one that starts it, closed ones too, for a
      // moment.
      server = await listenInKernel(id, greeting, standing);
    }
    const listening = server;
    return {
      isInKernel: listening !== undefined,
      release: () => {
        listening?.close();
        owned().delete(id);
      },
    };
  } catch (error) {
    owned().delete(id);
    throw error;
  }
}

async function listenInKernel(
  id: string,
  greeting: Greeting,
  standing: Pick<StoreService, "isPassing">,
): Promise<Server | "taken" | undefined> {
  const address = kernelAddress(id);
  if (address === undefined) return undefined;
  try {
    return await listenAt(address, greeting, {
      get isPassing() {
        return standing.isPassing ?? false;
      },
    });
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    if (error.code === "EADDRINUSE") return "taken";
    // A sandbox may forbid kernel names: the socket in the folder and LevelDB's lock remain.
    if (error.code === "EACCES" || error.code === "EPERM") return undefined;
    throw error;
  }
}
