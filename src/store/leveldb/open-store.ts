/**
 * Opens a store on disk: looks, owns, and to write to it reads the files, guards them, opens, checks the
 * chain. Whatever is refused is left as it was.
 */

import { existsSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { check, flag, name, oneOf, optionsOf } from "../../validation/index.ts";
import { folderBlobs } from "../blobs/index.ts";
import { TurnlogError } from "../../events/index.ts";
import { keepFilesPrivate, keepPrivate, makePrivateFolder } from "../folder/index.ts";
import {
  eraseLeft,
  type Eraser,
  catchUpIndex,
  checkRows,
  type CheckedRows,
} from "./upkeep/index.ts";
import type { Committer } from "./write/index.ts";
import { storeFailure, checkedKey, withChecksum } from "./rows/index.ts";
import {
  checkFiles,
  flush,
  levelAt,
  type LevelDb,
  liveFiles,
  guardLog,
  inheritedGuard,
  settle,
  ownStore,
  type Ownership,
  claim,
  disclaim,
  type Durability,
  type JsonDraft,
  FORMAT,
  newStore,
  readStoreFile,
  writeStoreFile,
  type StoreFile,
  assertOurs,
  assertThere,
  isUnused,
  storePaths,
  type StorePaths,
  beginLog,
  finishLog,
  isUnfinished,
  sumTables,
  type TableSums,
} from "./files/index.ts";
import { LevelLog } from "./level-log.ts";
import type { StoreLog } from "./store-log.ts";
import { openForReading } from "./open-reading.ts";

/** Which store is opened, and how. */
export type OpenLogOptions = OpenToWrite | OpenToRead;

interface WhichStore {
  /** The store's folder. */
  readonly dir: string;
  /**
   * Opens a store whose last owner was on another machine and did not close it. Whether that owner
   * lives cannot be seen from here: make sure that it does not. Default false.
   */
  readonly takeOver?: boolean;
}

/** A store that is written to; its folder is made where there is none. */
interface OpenToWrite extends WhichStore {
  readonly readOnly?: false;
  /** What a resolved append means, for the whole store. Default `sync`. */
  readonly durability?: Durability;
  /** Whether a store is made where there is none. Default true. */
  readonly create?: boolean;
}

/**
 * A store that is left as it is: nothing in it is made, appended, mended or erased, and whoever tries is
 * refused with `LOG_READ_ONLY`. It has one owner at a time all the same.
 */
interface OpenToRead extends WhichStore {
  readonly readOnly: true;
  readonly durability?: never;
  readonly create?: never;
}

/** A database that was opened and checked. */
interface Opened extends CheckedRows {
  readonly database: LevelDb;
  /** Sums of tables that are known. */
  readonly tables: TableSums;
}

const schema = optionsOf<OpenLogOptions>(
  { readOnly: flag, durability: oneOf("sync", "os"), create: flag, takeOver: flag },
  { dir: name },
);

/**
 * Opens the log of a store.
 * @throws TurnlogError `LOG_NOT_FOUND` (with `create: false` or `readOnly`), `LOG_LOCKED`, `LOG_FOREIGN`,
 * `LOG_DAMAGED`, `LOG_TOO_NEW`, `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED`. The files of a store that is refused are as they were.
 */
export async function openLog(options: OpenLogOptions): Promise<StoreLog> {
  check(schema, options, "openLog");
  const { dir, readOnly = false, durability = "sync", create = !readOnly, takeOver } = options;
  assertMeant(options);
  let ownership: Ownership | undefined;
  try {
    const given = storePaths(dir);
    assertOurs(given);
    if (!create) assertThere(given);
    const made = readOnly ? undefined : makePrivateFolder(dir);
    // LevelDB opens files by name all the time: the folder is the same one wherever links lead later.
    const paths = storePaths(realpathSync.native(dir));
    ownership = await ownStore(paths, { takeOver });
    return readOnly
      ? await openForReading(paths, ownership)
      : await openForWriting(paths, ownership, {
          durability,
          above: dirname(made === undefined ? paths.dir : realpathSync.native(made)),
        });
  } catch (error) {
    await ownership?.release();
    throw storeFailure(error, dir);
  }
}

/** @throws TurnlogError `INVALID_INPUT` for options that would do nothing */
function assertMeant({ readOnly, durability, create }: OpenLogOptions): void {
  if (readOnly !== true || (durability === undefined && create === undefined)) return;
  const what = durability === undefined ? "create" : "durability";
  throw new TurnlogError(
    "INVALID_INPUT",
    `openLog: \`${what}\` is for a store that is written to. Leave it out, or leave out \`readOnly\`.`,
  );
}

/** How a store is written to. */
interface Writing {
  readonly durability: Durability;
  /** The lowest folder that was there before the store's own was made. */
  readonly above: string;
}

async function openForWriting(
  paths: StorePaths,
  ownership: Ownership,
  { durability, above }: Writing,
): Promise<StoreLog> {
  for (const folder of [paths.dir, paths.log, paths.lock, paths.blobs]) {
    if (existsSync(folder)) keepPrivate(folder);
  }
  const opened = await openOwned(paths, { durability, above });
  return new LevelLog(opened.database, {
    dir: paths.dir,
    eraser: eraserOf(opened.database),
    sync: durability === "sync",
    blobs: folderBlobs(paths.blobs, { sync: durability === "sync" }),
    ...opened.chain,
    assertOwned: ownership.assertHeld,
    release: closer(paths, ownership, opened),
  });
}

/** Deleted rows leave the files when their tables are merged; old files go when a table is made. */
function eraserOf(database: LevelDb): Eraser {
  return async (spans) => {
    await flush(database, spans);
  };
}

async function openOwned(paths: StorePaths, { durability, above }: Writing): Promise<Opened> {
  // Before anything is changed. On the disk while the files are looked at, and in its place when the log is open.
  const claimed = claim(paths, durability);
  try {
    await settle(paths);
    return await openClaimed(paths, claimed, above);
  } catch (error) {
    await claimed.discard();
    throw error;
  }
}

async function openClaimed(paths: StorePaths, claimed: JsonDraft, above: string): Promise<Opened> {
  const store = readStoreFile(paths) ?? (await newStoreFile(paths));
  let guard = inheritedGuard(paths);
  let database: LevelDb | undefined;
  let opened: Opened;
  if (isUnfinished(paths, store)) await rm(paths.log, { recursive: true, force: true });
  const unused = isUnused(paths, store);
  try {
    if (unused) await beginLog(paths, above);
    else {
      const files = liveFiles(paths.log);
      await checkFiles(paths, files, store.tables ?? {});
      guard ??= guardLog(paths, files);
    }
    database = levelAt(paths.log, unused);
    await database.open();
    opened = { database, tables: store.tables ?? {}, ...(await checkRows(database, paths, store)) };
    // As long as the files can be put back as they were.
    await catchUpIndex(database, opened.chain.since);
  } catch (error) {
    await database?.close();
    await guard?.restore();
    throw error;
  }
  try {
    guard?.keep();
    await claimed.put();
    if (unused) await finishLog(paths);
    await eraseLeft(database, eraserOf(database));
  } catch (error) {
    await database.close();
    throw error;
  }
  return opened;
}

async function newStoreFile(paths: StorePaths): Promise<StoreFile> {
  await writeStoreFile(paths, newStore);
  return newStore;
}

/** Puts on record how far the log has come, and empties LevelDB's log file, which is its weak spot. */
function closer(
  paths: StorePaths,
  ownership: Ownership,
  { database, generation, chain, tables: known }: Opened,
): (committer: Committer) => Promise<void> {
  return async (committer) => {
    const { failure, written } = committer;
    const isHeld = ownership.isHeld();
    const moved = isHeld && failure === undefined && written.position > chain.checked.position;
    try {
      if (moved) {
        const batch = database.batch();
        committer.settle(batch);
        const { spare } = committer;
        // LevelDB merges a table only with one that lies above it: the batch that follows makes one.
        if (spare.length > 0) await flush(database);
        batch.put(checkedKey, withChecksum(checkedKey, written));
        // Synced in every store: `store.json` is about to say that the log has come this far.
        await batch.write({ sync: true });
        await flush(database, spare);
      }
      await database.close();
      if (isHeld) for (const folder of [paths.log, paths.lock]) keepFilesPrivate(folder);
      if (moved) {
        const { tables: files } = liveFiles(paths.log);
        const tables = await sumTables(files, known);
        await writeStoreFile(paths, { format: FORMAT, generation, reached: written, tables });
      }
      // Another owner's is not ours to take away.
      if (isHeld) await disclaim(paths);
    } catch (error) {
      throw storeFailure(error, paths.dir, "closed");
    } finally {
      await database.close();
      await ownership.release();
    }
  };
}
