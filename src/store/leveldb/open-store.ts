/**
 * Opens a store on disk: takes ownership, checks the files, links a copy of them, opens LevelDB and checks the
 * commit chain, in this order, before any write. A store that is refused keeps its files as they were.
 */

import { existsSync, realpathSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { check, flag, name, oneOf, optionsOf } from "../../validation/index.ts";
import { folderBlobs, memoryBlobs } from "../blobs/index.ts";
import { TurnlogError } from "../../events/index.ts";
import { keepFilesPrivate, keepPrivate, makePrivateFolder } from "../folder/index.ts";
import { eraseLeft, type Eraser } from "../row-engine/upkeep/erasure.ts";
import { catchUpIndex } from "../row-engine/upkeep/opening.ts";
import { checkRows, type CheckedRows } from "./files/checked-rows.ts";
import type { Committer } from "../row-engine/write/committer.ts";
import { chainStart } from "../row-engine/rows/commit-record.ts";
import { storeFailure } from "../row-engine/rows/failures.ts";
import { checkFiles, sumTables } from "./files/file-check.ts";
import { createReached, lastKnown, ReachedFile, readReached } from "./files/reached-file.ts";
import { flush, levelAt, type LevelDb } from "./files/level.ts";
import { liveFiles, numberOfFile } from "./files/log-folder.ts";
import { guardLog, inheritedGuard, finishInterrupted } from "./files/open-guard.ts";
import { ownStore, type Ownership } from "./files/own-store.ts";
import type { StoreService } from "./ownership/owner-socket.ts";
import { draftOwner, removeOwner, type Durability } from "./files/owner.ts";
import type { JsonDraft } from "./files/json-file.ts";
import {
  FORMAT,
  newStore,
  readStoreFile,
  writeStoreFile,
  type StoreFile,
} from "./files/store-file.ts";
import {
  assertIsStore,
  assertExists,
  needsNewLog,
  beginLog,
  finishLog,
  isUnfinished,
  storePaths,
  type StorePaths,
  namesIn,
} from "./files/store-files.ts";
import { LevelLog, type StoreLog } from "./level-log.ts";
import { openForReading } from "./open-reading.ts";
import { performance } from "node:perf_hooks";

export type OpenLogOptions = OpenToWrite | OpenToRead;

interface WhichStore {
  readonly dir: string;
  /**
   * Open a store whose last owner ran on another machine and did not close it. Make sure that this
   * owner is dead: turnlog cannot see it from here. Default: false.
   */
  readonly takeOver?: boolean;
}

interface OpenToWrite extends WhichStore {
  readonly readOnly?: false;
  /** What a resolved append means, for the whole store. Default: `sync`. */
  readonly durability?: Durability;
  /** Create the store if it does not exist. Default: true. */
  readonly create?: boolean;
}

/**
 * Nothing in the store changes; every write is refused with `LOG_READ_ONLY`. One owner at a time, readers
 * included: who opens a store that another process reads waits for it, for up to 10 seconds.
 */
interface OpenToRead extends WhichStore {
  readonly readOnly: true;
  readonly durability?: never;
  readonly create?: never;
}

interface Opened extends CheckedRows {
  readonly database: LevelDb;
  readonly store: StoreFile;
}

interface Held {
  readonly ownership: Ownership;
  readonly reached: ReachedFile;
  readonly watch: FolderWatch;
}

const schema = optionsOf<OpenLogOptions>(
  { readOnly: flag, durability: oneOf("sync", "os"), create: flag, takeOver: flag },
  { dir: name },
);

export async function openLog(options: OpenLogOptions): Promise<StoreLog> {
  return await openServedLog(options);
}

/**
 * As {@link openLog}. `service` gets the connections of other processes to the owner's socket; while it has no
 * `accept`, they wait.
 */
export async function openServedLog(
  options: OpenLogOptions,
  service?: StoreService,
): Promise<StoreLog> {
  check(schema, options, "openLog");
  const { dir, readOnly = false, durability = "sync", create = !readOnly, takeOver } = options;
  assertEffective(options);
  let ownership: Ownership | undefined;
  try {
    const given = storePaths(dir);
    assertIsStore(given);
    if (!create) assertExists(given);
    const made = readOnly ? undefined : makePrivateFolder(dir);
    // LevelDB opens files by name all the time: a link that changes later must not lead elsewhere.
    const paths = storePaths(realpathSync.native(dir));
    ownership = await ownStore(paths, { takeOver }, service);
    if (readOnly) return await openForReading(paths, ownership);
    const above = dirname(made === undefined ? paths.dir : realpathSync.native(made));
    const log = await openForWriting(paths, ownership, { durability, above });
    // What is served soon is worth waiting for.
    if (service === undefined) ownership.pass(false);
    return log;
  } catch (error) {
    await ownership?.release();
    throw storeFailure(error, dir);
  }
}

/** @throws TurnlogError `INVALID_INPUT` for options that have no effect on a read-only store */
function assertEffective({ readOnly, durability, create }: OpenLogOptions): void {
  if (readOnly !== true || (durability === undefined && create === undefined)) return;
  const what = durability === undefined ? "create" : "durability";
  throw new TurnlogError(
    "INVALID_INPUT",
    `openLog: \`${what}\` is only for a store that is open for writing. Leave it out, or leave out \`readOnly\`.`,
  );
}

interface Writing {
  readonly durability: Durability;
  /** The lowest folder that existed before the store's folder was created. */
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
  const sync = durability === "sync";
  try {
    const { generation, chain } = opened;
    const { position } = chain.end;
    const reached = await ReachedFile.open(paths, { generation, position });
    if (opened.store.keepsReached !== true)
      await writeStoreFile(paths, { ...opened.store, keepsReached: true });
    const watch = new FolderWatch(paths, reached);
    return new LevelLog(opened.database, {
      dir: paths.dir,
      eraser: eraserOf(opened.database),
      sync,
      blobs: folderBlobs(paths.blobs, { sync }),
      ...chain,
      assertOwned: () => {
        ownership.assertHeld();
        watch.assertInPlace();
      },
      // What is not synced may be gone after a power cut.
      ...(sync && { onSynced: (written) => reached.note(written) }),
      release: closer(paths, { ownership, reached, watch }, opened),
    });
  } catch (error) {
    await opened.database.close();
    throw error;
  }
}

/** Merging tables removes deleted rows from the files; making a table removes old files. */
function eraserOf(database: LevelDb): Eraser {
  return async (spans) => {
    await flush(database, spans);
  };
}

async function openOwned(paths: StorePaths, { durability, above }: Writing): Promise<Opened> {
  // Written to disk while the files are checked, and renamed into place once the log is open.
  const claimed = draftOwner(paths, durability);
  try {
    await finishInterrupted(paths);
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
  const reached = readReached(paths, store);
  const known = lastKnown(store, reached);
  if (isUnfinished(paths, known)) await rm(paths.log, { recursive: true, force: true });
  const unused = needsNewLog(paths, known);
  try {
    if (unused) await beginLog(paths, above);
    else {
      const files = liveFiles(paths.log);
      await checkFiles(paths, files, { sums: store.tables, reached });
      guard ??= guardLog(paths, files);
    }
    database = await levelAt(paths.log, unused);
    await database.open();
    opened = { database, store, ...(await checkRows(database, paths, store, reached)) };
    // Before the guard is dropped: until then the files can be restored.
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
  const store: StoreFile = { ...newStore, keepsReached: true };
  const { generation } = store;
  await createReached(paths, { generation, position: 0, emptyLog: 0 });
  await writeStoreFile(paths, store);
  return store;
}

/** Records how far the log has come, and empties LevelDB's log file, its weakest file. */
function closer(
  paths: StorePaths,
  { ownership, reached, watch }: Held,
  { database, generation, chain, store }: Opened,
): (committer: Committer) => Promise<void> {
  return async (committer) => {
    ownership.pass(true);
    const { failure, written } = committer;
    const isInPlace = watch.isInPlace();
    const isHeld = isInPlace && ownership.isHeld();
    let emptyLog = 0;
    const moved = isHeld && failure === undefined && written.position > chain.checked.position;
    try {
      if (moved) {
        const batch = database.batch();
        committer.settle(batch);
        const { spare } = committer;
        // LevelDB merges a table only with a table above it: the next batch makes one.
        if (spare.length > 0) await flush(database);
        // Always synced: `store.json` is about to say that the log reached this position.
        await batch.write({ sync: true });
        await flush(database, spare);
      }
      await database.close();
      if (isHeld) for (const folder of [paths.log, paths.lock]) keepFilesPrivate(folder);
      if (moved) {
        const { tables: files } = liveFiles(paths.log);
        const tables = await sumTables(files, store.tables ?? {});
        const closed = { format: FORMAT, generation, reached: written, tables, keepsReached: true };
        await writeStoreFile(paths, closed);
      }
      if (isHeld) emptyLog = emptyLogOf(paths);
      // The file may belong to another owner by now.
      if (isHeld) await removeOwner(paths);
      // Where an append said so, its caller knows.
      if (!isInPlace && failure === undefined) throw watch.failure();
    } catch (error) {
      throw storeFailure(error, paths.dir, "closed");
    } finally {
      reached.close(emptyLog);
      await database.close();
      await ownership.release();
    }
  };
}

/** The number of LevelDB's log file if it is empty: nothing is lost with it. */
function emptyLogOf({ log }: StorePaths): number {
  const { logs } = liveFiles(log);
  return logs.every(({ size }) => size === 0) ? numberOfFile(logs[0]?.path ?? "0") : 0;
}

// Notices that the folder of an open store was removed or replaced. LevelDB would keep writing to files that no
// name leads to.

/** Milliseconds between two checks of the files. Whether the folder is the same is checked before each write. */
const INTERVAL = 1000;

interface HeldFile {
  readonly path: string;
  readonly inode: bigint | undefined;
}

class FolderWatch {
  readonly #paths: StorePaths;
  /**
   * Files that this process holds open, so that no other file gets their inodes. Folders are removed and made
   * again under the same inode.
   */
  readonly #reached: HeldFile;
  readonly #lock: HeldFile;
  #looked = performance.now();

  /** The log is open. */
  constructor(paths: StorePaths, reached: ReachedFile) {
    const lock = join(paths.log, "LOCK");
    this.#paths = paths;
    this.#reached = { path: paths.reached, inode: reached.inode };
    this.#lock = { path: lock, inode: inodeOf(lock) };
  }

  /** @throws TurnlogError `LOG_FAILED`, for files of LevelDB at the latest a second after they are gone */
  readonly assertInPlace = (): void => {
    const now = performance.now();
    if (now - this.#looked >= INTERVAL) {
      if (!this.isInPlace()) throw this.failure();
      this.#looked = now;
    } else if (!isAt(this.#reached)) throw this.failure();
  };

  isInPlace(): boolean {
    if (!isAt(this.#reached) || !isAt(this.#lock)) return false;
    const names = namesIn(this.#paths.log);
    return names.includes("CURRENT") && names.some((name) => name.endsWith(".log"));
  }

  failure(): TurnlogError {
    const { dir } = this.#paths;
    return new TurnlogError(
      "LOG_FAILED",
      `The folder of the store, ${dir}, or files in it have been removed or replaced while the store was open. Nothing more is written here, and events that were acknowledged since then are not in it. Put back the folder or a backup, then open the store again.`,
      { details: { path: dir } },
    );
  }
}

function isAt({ path, inode }: HeldFile): boolean {
  return inodeOf(path) === inode;
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

// Opens the log on a database in memory: for tests, and for sessions that need not be kept.

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
