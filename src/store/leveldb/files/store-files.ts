/**
 * What the names of a store's files tell: whether it is a store, and whether its log exists and was ever
 * finished. LevelDB creates several files, and a power cut can lose any name that was not synced. So
 * `log.new` is on disk before them: while it exists, nothing is acknowledged, and the log is created
 * again.
 */

import { existsSync, rmSync, writeFileSync, readFileSync, statSync, readdirSync } from "node:fs";
import { PRIVATE_FILE, syncAbove, syncFolder } from "../../folder/index.ts";
import { basename, join } from "node:path";
import { TurnlogError, hasCode } from "../../../events/index.ts";

/** @throws TurnlogError `LOG_FOREIGN` when the folder contains something else than a store */
export function assertIsStore(paths: StorePaths): void {
  const { dir } = paths;
  if (kindOf(dir) === "other") throw foreign(dir, "it is a file");
  const names = namesIn(dir);
  assertFinished(paths, names);
  if (names.includes("store.json")) return;
  if (names.includes("CURRENT")) throw foreign(dir, "it is a LevelDB of another program");
  for (const folder of [paths.log, paths.beforeOpen, paths.repaired]) {
    if (kindOf(folder) === "other") throw foreign(folder, "it is a file");
    if (namesIn(folder).length > 0) {
      throw foreign(
        folder,
        "it holds files, and no store.json beside it says that they are turnlog's",
      );
    }
  }
}

/** @throws TurnlogError `LOG_FOREIGN` when it is a backup that was not finished */
export function assertFinished({ dir, unfinished }: StorePaths, names: readonly string[]): void {
  if (!names.includes(basename(unfinished))) return;
  throw new TurnlogError(
    "LOG_FOREIGN",
    `${dir} is not a store: a backup is being written into it, or was never finished. Nothing was changed. Delete the folder and make the backup again.`,
    { details: { path: dir } },
  );
}

/**
 * Parts of a store and other databases count; later checks report what is wrong.
 * @throws TurnlogError `LOG_NOT_FOUND` when the folder contains no store
 */
export function assertExists({ dir }: StorePaths): void {
  const names = namesIn(dir);
  if (["store.json", "log", "CURRENT"].some((name) => names.includes(name))) return;
  throw new TurnlogError(
    "LOG_NOT_FOUND",
    `There is no store in ${dir}. A chat creates one in the folder where it is started, \`createRuntime\` in the folder that it gets. Name that folder.`,
    { details: { dir } },
  );
}

/** LevelDB's files that contain rows. */
const DATA = /\.(ldb|sst|log)$/;

/** Whether any file may contain events, even one of an interrupted opening or repair. */
export function hasEvents({ log, beforeOpen, repaired }: StorePaths): boolean {
  return [log, beforeOpen, repaired].some((folder) =>
    namesIn(folder).some((name) => DATA.test(name)),
  );
}

/** The same for opening and repair. `reached` is left out if `store.json` cannot be read. */
export function logMissing({ dir, log }: StorePaths, reached?: number): TurnlogError {
  const had = reached === undefined ? "" : ` (it had ${reached})`;
  return new TurnlogError(
    "LOG_DAMAGED",
    `All events of the store in ${dir} are gone${had}: there is no log in ${log}, and nothing here can bring it back. Nothing was changed. Put the whole folder ${dir} back from a backup; to begin again instead, delete it or move it away.`,
    { details: { path: log } },
  );
}

/**
 * Whether LevelDB has to create the log. `reached`: how far it had certainly come.
 * @throws TurnlogError `LOG_DAMAGED` if the rest of a log would look new
 */
export function needsNewLog(paths: StorePaths, reached: number): boolean {
  const { log } = paths;
  const names = namesIn(log);
  if (reached > 0 && !hasEvents(paths)) throw logMissing(paths, reached);
  const used = reached > 0 || names.some((name) => DATA.test(name));
  if (names.includes("CURRENT")) {
    const manifest = readFileSync(join(log, "CURRENT"), "utf8").trim();
    if (names.includes(manifest)) return false;
    throw incomplete(log, `CURRENT names ${JSON.stringify(manifest)}, which is missing`);
  }
  if (used) throw incomplete(log, "the file CURRENT is missing");
  return true;
}

function kindOf(path: string): "none" | "folder" | "other" {
  try {
    return statSync(path).isDirectory() ? "folder" : "other";
  } catch (error) {
    if (hasCode(error, "ENOENT")) return "none";
    if (hasCode(error, "ENOTDIR")) return "other";
    throw error;
  }
}

export function foreign(path: string, why: string): TurnlogError {
  return new TurnlogError(
    "LOG_FOREIGN",
    `${path} is not a turnlog store: ${why}. Nothing was changed. Choose another folder; if a store lost its store.json, \`turnlog repair\` writes it again.`,
    { details: { path } },
  );
}

export function incomplete(log: string, why: string): TurnlogError {
  return new TurnlogError(
    "LOG_DAMAGED",
    `The log in ${log} is damaged: ${why}. Nothing was changed. Put the file back from a copy, or run \`turnlog repair\`.`,
    { details: { path: log } },
  );
}

/** Whether the log was never finished. A log with tables has been in use, despite the mark. */
export function isUnfinished({ newLog: young, log }: StorePaths, reached: number): boolean {
  if (reached > 0 || !existsSync(young)) return false;
  return !namesIn(log).some((name) => name.endsWith(".ldb"));
}

/** Runs before LevelDB creates the log, and after `store.json` is in place. */
export async function beginLog(paths: StorePaths, above: string): Promise<void> {
  writeFileSync(paths.newLog, "", { mode: PRIVATE_FILE });
  await Promise.all([syncFolder(paths.dir), syncAbove(paths.dir, above)]);
}

export async function finishLog(paths: StorePaths): Promise<void> {
  await syncFolder(paths.log);
  rmSync(paths.newLog);
  await syncFolder(paths.dir);
}

// The names in a store's folder.
//
//   store.json        marks the folder as a store; how far the log had certainly come
//   store.reached     how far the log of an open or killed store has come at least
//   backup.unfinished marks a backup that is being written, or was killed
//   owner.json        who writes to the store
//   owner.sock        the owner listens here (owner-<n>.sock: before its rename)
//   server.token      what `turnlog serve` asks of clients; only the owner's user may read it
//   lock/             an empty LevelDB, used for its file lock only
//   log/              the events
//   log.new           an empty file while the log is created
//   log.reading/      links to the files of the log, for reading only
//   blobs/            large content, each once, under its digest
//   blobs.damaged/    altered blobs that repair set aside, kept for good
//   log.before-open/  links to the files of log/, until opening has succeeded
//   log.repaired/     a finished repair before its rename
//   log.damaged-<n>/  a log before its repair, kept for good
//   log.discard/, log.linking/, log.repairing/   left over, deleted at the next opening

export interface StorePaths {
  readonly dir: string;
  readonly store: string;
  readonly owner: string;
  readonly socket: string;
  readonly unfinished: string;
  readonly lock: string;
  readonly log: string;
  readonly newLog: string;
  readonly reached: string;
  readonly reading: string;
  readonly blobs: string;
  readonly damagedBlobs: string;
  readonly beforeOpen: string;
  readonly repaired: string;
  readonly discard: string;
  readonly linking: string;
  readonly repairing: string;
}

export function storePaths(dir: string): StorePaths {
  return {
    dir,
    store: join(dir, "store.json"),
    owner: join(dir, "owner.json"),
    socket: join(dir, "owner.sock"),
    unfinished: join(dir, "backup.unfinished"),
    lock: join(dir, "lock"),
    log: join(dir, "log"),
    newLog: join(dir, "log.new"),
    reached: join(dir, "store.reached"),
    reading: join(dir, "log.reading"),
    blobs: join(dir, "blobs"),
    damagedBlobs: join(dir, "blobs.damaged"),
    beforeOpen: join(dir, "log.before-open"),
    repaired: join(dir, "log.repaired"),
    discard: join(dir, "log.discard"),
    linking: join(dir, "log.linking"),
    repairing: join(dir, "log.repairing"),
  };
}

/**
 * The names in a folder; empty if it does not exist. Synchronous, as all small reads of an opening
 * are: ten microseconds each, against more than a hundred for the thread pool, some fifteen times.
 */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

export function nextDamaged({ dir }: StorePaths): string {
  const numbers = namesIn(dir).map((name) => Number(/^log\.damaged-(\d+)$/.exec(name)?.[1] ?? 0));
  return join(dir, `log.damaged-${Math.max(0, ...numbers) + 1}`);
}
