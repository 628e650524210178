/** The store that a command opens. Never makes one: a command that only looks changes nothing. */

import { resolve } from "node:path";
import { z } from "zod";
import {
  encryptedLog,
  folderKeys,
  type EncryptedLog,
  type KeyStore,
} from "../../store/encryption/index.ts";
import { TurnlogError } from "../../events/index.ts";
import { openLog, type StoreLog } from "../../store/leveldb/index.ts";
import { isWithin } from "../../store/folder/index.ts";
import { UsageError } from "../output/index.ts";

/** The options of every command that opens a store. */
export const storeOptions: {
  readonly dir: z.ZodString;
  readonly takeOver: z.ZodDefault<z.ZodBoolean>;
} = { dir: z.string(), takeOver: z.boolean().default(false) };

/** The same, where it reads or writes what sessions say. */
export const sessionOptions: typeof storeOptions & {
  readonly keys: z.ZodOptional<z.ZodString>;
} = { ...storeOptions, keys: z.string().optional() };

export interface StoreFolder {
  /** The folder of the store. */
  readonly dir: string;
  /** Whether it is opened although it was left open on another machine. */
  readonly takeOver: boolean;
}

export interface SessionsFolder extends StoreFolder {
  /** The folder of the keys of encrypted sessions. */
  readonly keys?: string | undefined;
}

export interface StoreUse {
  /** Whether the command leaves the store as it is. */
  readonly readOnly: boolean;
  /** What to do where another process has the store, beside closing it there. */
  readonly elsewhere?: string;
}

export interface SessionsUse extends StoreUse {
  /** What is read of an encrypted session where its key is not at hand. Default `refuse`. */
  readonly withoutKey?: "refuse" | "redact";
}

/** @throws TurnlogError `LOG_NOT_FOUND`, and what `openLog` throws */
export async function openStore(
  { dir, takeOver }: StoreFolder,
  { readOnly, elsewhere }: StoreUse,
): Promise<StoreLog> {
  try {
    const folder = { dir: resolve(dir), takeOver };
    return await openLog(readOnly ? { ...folder, readOnly } : { ...folder, create: false });
  } catch (error) {
    const isLocked = TurnlogError.isInstance(error) && error.code === "LOG_LOCKED";
    if (!isLocked || elsewhere === undefined) throw error;
    const { message, details, cause } = error;
    throw new TurnlogError("LOG_LOCKED", `${message} ${elsewhere}`, { details, cause });
  }
}

/**
 * The same, for a command that reads or writes what sessions say.
 * @throws UsageError, and as {@link openStore}
 */
export async function openSessions(
  folder: SessionsFolder,
  { withoutKey = "refuse", ...use }: SessionsUse,
): Promise<EncryptedLog> {
  const kept = keysIn(folder.keys, folder.dir);
  const log = encryptedLog(await openStore(folder, use), kept, { withoutKey });
  await log.settled();
  return log;
}

/** Undefined where none is named; a variable that is set to nothing names none. @throws UsageError */
export function keysIn(folder: string | undefined, dir: string): KeyStore | undefined {
  if (folder === undefined || folder.trim() === "") return undefined;
  const keys = resolve(folder);
  if (isWithin(dir, keys))
    throw new UsageError(
      `The keys must not lie in the store (${dir}): whoever copies it would copy them too. Name another folder by --keys.`,
    );
  return folderKeys(keys);
}
