/** The store that a command reads. Never makes one: who only looks changes nothing. */

import { resolve } from "node:path";
import type { EventLog } from "../events/index.ts";
import { openLog } from "../events/leveldb/index.ts";

/** @throws TurnlogError `LOG_NOT_FOUND`, and what `openLog` throws */
export async function openStore(dir: string): Promise<EventLog> {
  return await openLog({ dir: resolve(dir), create: false });
}
