/** The same log on a database in memory: for tests, and for sessions that nobody needs to keep. */

import { MemoryLevel } from "memory-level";
import { memoryBlobs } from "../blobs/index.ts";
import { chainStart } from "./rows/index.ts";
import { LevelLog } from "./level-log.ts";
import type { StoreLog } from "./store-log.ts";

/** A log that is gone when it is closed. */
export async function openMemoryLog(): Promise<StoreLog> {
  const database = new MemoryLevel({ storeEncoding: "utf8" });
  await database.open();
  return new LevelLog(database, {
    sync: false,
    blobs: memoryBlobs(),
    end: chainStart,
    checked: chainStart,
    release: () => database.close(),
  });
}
