/** Opens the log on a database in memory: for tests, and for sessions that need not be kept. */

import { memoryBlobs } from "../blobs/index.ts";
import { chainStart } from "./rows/commit-record.ts";
import { LevelLog } from "./level-log.ts";
import type { StoreLog } from "./store-log.ts";

export async function openMemoryLog(): Promise<StoreLog> {
  const { MemoryLevel } = await import("memory-level");
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
