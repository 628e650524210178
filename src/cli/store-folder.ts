/** The store that a command reads. Never makes one: who only looks changes nothing. */

import { resolve } from "node:path";
import { TurnlogError } from "../events/index.ts";
import { openLog, type StoreLog } from "../events/leveldb/index.ts";

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
