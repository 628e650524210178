/**
 * Opens the store for a command, or reads it through the process that has it open. Never creates a store: a
 * command that reads must change nothing.
 */

import { resolve } from "node:path";
import {
  encryptingLog,
  folderKeys,
  masterKeys,
  type EncryptedLog,
  type KeyStore,
} from "../../store/encryption/index.ts";
import { TurnlogError, type EventLog } from "../../events/index.ts";
import { openServedLog, type StoreLog } from "../../store/leveldb/index.ts";
import { isWithin } from "../../store/folder/index.ts";
import type { RuntimeOptions } from "../../runtime/index.ts";
import { serverOwner, storeOwner, type StoreOwner } from "../owner/store-owner.ts";
import { UsageError } from "../output/error-report.ts";

// The store of a command when it is not a folder: a database, or the sessions of a server.

type Remote =
  | { readonly kind: "database"; readonly connectionString: string; readonly migrate: boolean }
  | { readonly kind: "server"; readonly url: string; readonly token?: string | undefined };
/** The database of `--postgres`, and whether `--no-migrate` forbids to change its tables. */
type Database = Extract<Remote, { readonly kind: "database" }>;

/**
 * The log in a database; its driver is loaded now. A command that does not begin sessions makes no tables.
 * @throws TurnlogError as `openPostgresLog`
 */
export async function openDatabase(
  { connectionString, migrate }: Omit<Database, "kind">,
  { creates }: { readonly creates: boolean },
): Promise<EventLog> {
  const { openPostgresLog } = await import("../../store/postgres/index.ts");
  return await openPostgresLog({ connectionString, migrate: migrate && creates });
}

export interface StoreFolder {
  /** The folder of the store. */
  readonly dir: string;
  /** Whether to open a store that was left open on another machine. */
  readonly takeOver: boolean;
}

/** A folder, or a database or a server instead. */
export interface StorePlace extends StoreFolder {
  readonly remote: Remote | undefined;
}

export interface SessionsPlace extends StorePlace {
  /** The folder of the keys of encrypted sessions. */
  readonly keys?: string | undefined;
}

/** The options of every command. */
export interface SharedOptions extends SessionsPlace {
  readonly migrate: boolean;
  readonly json: boolean;
  readonly debug: boolean;
}

export interface StoreUse {
  /** Whether the command changes nothing. */
  readonly readOnly: boolean;
  /** Whether to create the store if it is missing. Default: false. */
  readonly creates?: boolean;
  /** Advice for the error message when another process has the store open and does not share it. */
  readonly elsewhere?: string;
}

export interface SessionsUse extends StoreUse {
  /** How to read an encrypted session without its key. Default: `refuse`. */
  readonly withoutKey?: "refuse" | "redact";
}

/** @throws TurnlogError `LOG_NOT_FOUND`, and what `openLog` and `openPostgresLog` throw */
export async function openStore(place: StorePlace, use: StoreUse): Promise<EventLog> {
  const { remote } = place;
  if (remote === undefined) return await openFolder(place, use);
  if (remote.kind === "server") {
    if (use.readOnly) return serverOwner(remote).log;
    throw new UsageError(
      `${storeName(place)} cannot be changed like this: its sessions are changed by their own commands, and its store where it is.`,
    );
  }
  return await openDatabase(remote, { creates: use.creates ?? false });
}

/** @throws TurnlogError `LOG_NOT_FOUND`, and what `openLog` throws */
export async function openFolder(place: StoreFolder, use: StoreUse): Promise<StoreLog> {
  const { dir, takeOver } = place;
  const { readOnly, elsewhere, creates = false } = use;
  const folder = { dir: resolve(dir), takeOver };
  for (let tries = 1; ; tries++) {
    try {
      const options = readOnly ? { ...folder, readOnly } : { ...folder, create: creates };
      // A command is soon over, so it serves no other processes: they wait for it.
      return await openServedLog(options, {});
    } catch (error) {
      const isLocked = TurnlogError.isInstance(error) && error.code === "LOG_LOCKED";
      if (!isLocked) throw error;
      const { message, details, cause } = error;
      // A store that was waited for in vain is not waited for again.
      if (readOnly && details["standing"] === undefined) {
        const owner = await storeOwner(dir);
        if (owner !== undefined) return owner.logOr(() => openFolder(place, use));
        // It may have closed the store since.
        if (tries === 1) continue;
      }
      if (elsewhere === undefined) throw error;
      throw new TurnlogError("LOG_LOCKED", `${message} ${elsewhere}`, { details, cause });
    }
  }
}

/** For commands that read or write contents of sessions. @throws UsageError, and as {@link openStore} */
export async function openSessions(
  place: SessionsPlace,
  { withoutKey = "refuse", ...use }: SessionsUse,
): Promise<EncryptedLog> {
  const keys = keysIn(place.keys, place.dir);
  const log = encryptingLog(await openStore(place, use), keys, { withoutKey });
  await log.settled();
  return log;
}

/** The sessions that other processes write: of the one that has the store open, if it shares it, or of all of a database. */
export async function sharedSessions(
  place: SessionsPlace,
  withoutKey: NonNullable<SessionsUse["withoutKey"]>,
): Promise<EncryptedLog | undefined> {
  if (place.remote !== undefined) return await openSessions(place, { readOnly: true, withoutKey });
  const owner = await storeOwner(place.dir);
  if (owner === undefined) return undefined;
  return encryptingLog(owner.log, keysIn(place.keys, place.dir), { withoutKey });
}

/** The process that has the store open, or the server. A database has none: it may be open in many. */
export async function ownerOf({
  dir,
  remote,
}: Pick<StorePlace, "dir" | "remote">): Promise<StoreOwner | undefined> {
  if (remote === undefined) return await storeOwner(dir);
  return remote.kind === "server" ? serverOwner(remote) : undefined;
}

/** The store of a runtime that a command starts. Dispose of it after the runtime. */
export interface RuntimeStore extends AsyncDisposable {
  readonly options:
    | Pick<Extract<RuntimeOptions, { readonly dir: string }>, "dir" | "durability" | "takeOver">
    | { readonly log: EventLog };
}

export async function runtimeStore({
  dir,
  remote,
  takeOver,
  durability = "sync",
}: StorePlace & { readonly durability?: "sync" | "os" }): Promise<RuntimeStore> {
  if (remote?.kind === "server")
    throw new UsageError(
      "The sessions of a server are run there: `turnlog serve` opens a folder or a database.",
    );
  if (remote === undefined) {
    const options = { dir: resolve(dir), durability, takeOver };
    return { options, [Symbol.asyncDispose]: async () => {} };
  }
  const log = await openDatabase(remote, { creates: true });
  return { options: { log }, [Symbol.asyncDispose]: () => log.close() };
}

/** For messages: a connection string may have a password. */
export function storeName({ dir, remote }: Pick<StorePlace, "dir" | "remote">): string {
  if (remote === undefined) return `The store in ${dir}`;
  return remote.kind === "database" ? "The database" : `The server at ${remote.url}`;
}

/** The key store in the folder of `--keys` or TURNLOG_KEYS; undefined if unset or empty. @throws UsageError */
export function keysIn(folder: string | undefined, dir: string): KeyStore | undefined {
  return masterKeysIn(folder, dir) ?? keyFolder(folder, dir);
}

/**
 * The same under the master key of the environment; undefined without one. The master key is no option, since
 * other users of the machine see those. @throws UsageError
 */
export function masterKeysIn(
  folder: string | undefined,
  dir: string,
): ReturnType<typeof masterKeys> | undefined {
  const { TURNLOG_MASTER_KEY: current = "", TURNLOG_FORMER_MASTER_KEYS: former = "" } = process.env;
  const keys = keyFolder(folder, dir);
  if (keys === undefined || (current === "" && former === "")) return undefined;
  const previous = former.split(",").filter((text) => text.trim() !== "");
  return masterKeys(keys, {
    current: keyBytes("TURNLOG_MASTER_KEY", current),
    previous: previous.map((text) => keyBytes("TURNLOG_FORMER_MASTER_KEYS", text)),
  });
}

function keyFolder(folder: string | undefined, dir: string): KeyStore | undefined {
  if (folder === undefined || folder.trim() === "") return undefined;
  const keys = resolve(folder);
  if (isWithin(dir, keys))
    throw new UsageError(
      `The keys must not be in the store (${dir}): a copy of the store would include them. Name another folder with --keys.`,
    );
  return folderKeys(keys);
}

function keyBytes(variable: string, text: string): Uint8Array {
  const bytes = Buffer.from(text.trim(), "base64");
  if (bytes.byteLength === 32) return bytes;
  throw new UsageError(
    `${variable} must be 32 bytes as base64, as \`openssl rand -base64 32\` prints them, and has ${bytes.byteLength}.`,
  );
}
