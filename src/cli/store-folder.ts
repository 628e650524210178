/** The store that a command reads. Never makes one: who only looks changes nothing. */

import { resolve } from "node:path";
import { encryptedLog, type EncryptedLog } from "../events/encryption/index.ts";
import { TurnlogError } from "../events/index.ts";
import { openLog, type StoreLog } from "../events/leveldb/index.ts";
import { keysIn } from "./key-folder.ts";

/**
 * @param elsewhere - What to do where another process has the store, beside closing it there.
 * @throws TurnlogError `LOG_NOT_FOUND`, and what `openLog` throws
 */
export async function openStore(dir: string, elsewhere?: string): Promise<StoreLog> {
  try {
    return await openLog({ dir: resolve(dir), create: false });
  } catch (error) {
    const isLocked = TurnlogError.isInstance(error) && error.code === "LOG_LOCKED";
    if (!isLocked || elsewhere === undefined) throw error;
    const { message, details, cause } = error;
    throw new TurnlogError("LOG_LOCKED", `${message} ${elsewhere}`, { details, cause });
  }
}

export interface StoreFolder {
  /** The folder of the store. */
  readonly dir: string;
  /** The folder of the keys of encrypted sessions. */
  readonly keys?: string | undefined;
}

export interface ReadingOptions {
  /** As {@link openStore} says it. */
  readonly elsewhere?: string;
  /** What is read of an encrypted session where its key is not at hand. Default `refuse`. */
  readonly withoutKey?: "refuse" | "redact";
}

/**
 * The same, for who reads or writes what sessions say.
 * @throws UsageError, and as {@link openStore}
 */
export async function openSessions(
  { dir, keys }: StoreFolder,
  { elsewhere, withoutKey = "refuse" }: ReadingOptions = {},
): Promise<EncryptedLog> {
  const kept = keysIn(keys, dir);
  const log = encryptedLog(await openStore(dir, elsewhere), kept, { withoutKey });
  await log.settled();
  return log;
}
