/** The folder of a store that a command reads. Never makes one: who only looks changes nothing. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { TurnlogError, type EventLog } from "../events/index.ts";
import { openLog } from "../events/leveldb/index.ts";

/** @throws TurnlogError `LOG_NOT_FOUND`, and what `openLog` throws */
export async function openStore(dir: string): Promise<EventLog> {
  return await openLog({ dir: storeFolder(dir) });
}

/**
 * The absolute path of a store's folder.
 * @throws TurnlogError `LOG_NOT_FOUND` when there is no store in it
 */
export function storeFolder(dir: string): string {
  const folder = resolve(dir);
  // A log without its store.json is for `openLog` to refuse: it knows what can be done about it.
  if (["store.json", "log"].some((name) => existsSync(join(folder, name)))) return folder;
  throw new TurnlogError(
    "LOG_NOT_FOUND",
    `There is no store in ${folder}. A chat makes one in the folder where it is started; --dir names another.`,
    { details: { dir: folder } },
  );
}
