/**
 * Opens a store for reading and leaves it unchanged. LevelDB rewrites a folder when it opens it, so it gets one
 * with links to the log's files. Unfinished work of a dead process is finished there; damage is reported.
 */

import { rm } from "node:fs/promises";
import { folderBlobs } from "../blobs/index.ts";
import { makePrivateFolder } from "../folder/index.ts";
import { storeFailure, readOnlyError } from "../row-engine/rows/failures.ts";
import { catchUpIndex } from "../row-engine/upkeep/opening.ts";
import { checkRows } from "./files/checked-rows.ts";
import { LevelLog, type StoreLog } from "./level-log.ts";
import type { BlobStore } from "../../events/index.ts";
import { checkFiles } from "./files/file-check.ts";
import { lastKnown, readReached } from "./files/reached-file.ts";
import { levelAt } from "./files/level.ts";
import { linkFolder, liveFiles } from "./files/log-folder.ts";
import type { Ownership } from "./files/own-store.ts";
import { newStore, readStoreFile } from "./files/store-file.ts";
import { needsNewLog, isUnfinished, namesIn, type StorePaths } from "./files/store-files.ts";

/** @throws TurnlogError `LOG_FOREIGN`, `LOG_DAMAGED`, `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED` */
export async function openForReading(paths: StorePaths, ownership: Ownership): Promise<StoreLog> {
  const removeCopy = (): Promise<void> => rm(paths.reading, { recursive: true, force: true });
  // A killed reader may have left one.
  await removeCopy();
  const store = readStoreFile(paths) ?? newStore;
  const reached = readReached(paths, store);
  const known = lastKnown(store, reached);
  const source = { ...paths, log: logToRead(paths) };
  const isNew = isUnfinished(paths, known) || needsNewLog(source, known);
  try {
    if (isNew) makePrivateFolder(paths.reading);
    else {
      const files = liveFiles(source.log);
      await checkFiles(paths, files, { sums: store.tables, reached });
      linkFolder(source.log, paths.reading, files);
    }
    const database = await levelAt(paths.reading, isNew);
    try {
      await database.open();
      const { chain } = await checkRows(database, paths, store, reached);
      await catchUpIndex(database, chain.since);
      return new LevelLog(database, {
        dir: paths.dir,
        readOnly: true,
        sync: false,
        blobs: readOnlyBlobs(folderBlobs(paths.blobs), paths.dir),
        ...chain,
        release: async () => {
          try {
            await database.close();
            await removeCopy();
          } catch (error) {
            throw storeFailure(error, paths.dir, "closed");
          } finally {
            await ownership.release();
          }
        },
      });
    } catch (error) {
      await database.close();
      throw error;
    }
  } catch (error) {
    await removeCopy();
    throw error;
  }
}

/** Where the log is: a process may have died before it moved the log into place. */
function logToRead({ log, repaired, beforeOpen }: StorePaths): string {
  return [repaired, log, beforeOpen].find((folder) => namesIn(folder).length > 0) ?? log;
}

function readOnlyBlobs(blobs: BlobStore, dir: string): BlobStore {
  const refuse = async (): Promise<never> => {
    throw readOnlyError(dir);
  };
  return {
    get: (sha256) => blobs.get(sha256),
    has: (sha256) => blobs.has(sha256),
    list: () => blobs.list(),
    hold: (among) => blobs.hold(among),
    put: refuse,
    collect: refuse,
  };
}
