/** Repairs a damaged store, under its lock, in a copy that replaces the log. The damaged files stay beside it. */

import { realpathSync } from "node:fs";
import { rename, rm, readFile } from "node:fs/promises";
import { join } from "node:path";
import { TurnlogError, isIntact } from "../../../events/index.ts";
import { check, flag, name, optionsOf } from "../../../validation/index.ts";
import { folderBlobs } from "../../blobs/index.ts";
import { keepFilesPrivate, makePrivateFolder, syncFolder } from "../../folder/index.ts";
import { StoreCopy } from "../copy/store-copy.ts";
import { missingLog } from "../files/file-check.ts";
import { flush, levelAt } from "../files/level.ts";
import { linkFolder, liveFiles, bytesOf, filesOf, type LogFile } from "../files/log-folder.ts";
import { putRepaired, finishInterrupted, restoreBeforeOpen } from "../files/open-guard.ts";
import { ownStore, type OwnOptions, type Ownership } from "../files/own-store.ts";
import { draftOwner } from "../files/owner.ts";
import { createReached, lastKnown, type Reached, readReached } from "../files/reached-file.ts";
import {
  readFormat,
  FORMAT,
  type Format,
  writeFormat,
  newStore,
  readStoreFile,
  writeStoreFile,
  type StoreFile,
} from "../files/store-file.ts";
import {
  assertFinished,
  assertExists,
  foreign,
  hasEvents,
  logMissing,
  isUnfinished,
  namesIn,
  storePaths,
  type StorePaths,
} from "../files/store-files.ts";
import type { FileRow } from "../format/bytes.ts";
import { damageInLog, rowsOfLog } from "../format/log-file.ts";
import { damageInTable, rowsOfTable } from "../format/table-file.ts";
import { checkChain, lastChecked } from "../../row-engine/read/chain-check.ts";
import { chainStart, rowContent } from "../../row-engine/rows/commit-record.ts";
import { type RowStore, BatchWriter } from "../../row-engine/rows/row-store.ts";
import { storeFailure } from "../../row-engine/rows/failures.ts";
import { type StoredBlob, parseEventKey } from "../../row-engine/rows/keys.ts";

export interface RepairOptions extends OwnOptions {
  readonly dir: string;
}

const schema = optionsOf<RepairOptions>({ takeOver: flag }, { dir: name });

/**
 * Repairs a store and reports what is lost. Each session keeps its events before the first missing
 * or altered one; later ones stay in the damaged files, beside the store. Blobs are checked:
 * missing ones are reported, altered ones are set aside and reported.
 * @throws TurnlogError `LOG_NOT_FOUND`, `LOG_LOCKED`, `LOG_FOREIGN`, `LOG_TOO_NEW`, `EVENT_TOO_NEW`,
 * `LOG_DAMAGED` (the log is gone), `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED`
 */
export async function repairLog(options: RepairOptions): Promise<RepairReport> {
  check(schema, options, "repairLog");
  const { dir, takeOver = false } = options;
  await assertLog(storePaths(dir));
  const paths = storePaths(realpathSync.native(dir));
  const hadLock = namesIn(paths.lock).length > 0;
  const ownership = await owned(paths, { takeOver });
  // Tells other machines that a repair is at work.
  const claimed = draftOwner(paths, "sync");
  try {
    await finishInterrupted(paths);
    await restoreBeforeOpen(paths);
    return await repairLocked(paths);
  } catch (error) {
    throw storeFailure(error, dir, "repaired");
  } finally {
    await rm(paths.repairing, { recursive: true, force: true });
    await claimed.discard();
    await ownership.release();
    if (!hadLock && !namesIn(dir).includes("store.json")) await rm(paths.lock, { recursive: true });
  }
}

async function owned(paths: StorePaths, options: OwnOptions): Promise<Ownership> {
  try {
    return await ownStore(paths, options);
  } catch (error) {
    throw storeFailure(error, paths.dir, "repaired");
  }
}

/** @throws TurnlogError `LOG_NOT_FOUND`, `LOG_FOREIGN`, `LOG_TOO_NEW`, `LOG_DAMAGED` */
async function assertLog(paths: StorePaths): Promise<void> {
  const names = namesIn(paths.dir);
  assertFinished(paths, names);
  if (isUnfinished(paths, 0)) throw neverUsed(paths);
  if (names.includes("store.json") && !hasEvents(paths)) {
    const store = await storeOf(paths, []);
    if (store === undefined) throw logMissing(paths);
    const known = lastKnown(store, reachedOf(paths, store, []));
    if (known > 0) throw logMissing(paths, known);
    if (namesIn(paths.log).length === 0) throw neverUsed(paths);
  }
  for (const folder of [paths.log, paths.beforeOpen, paths.repaired]) {
    if (namesIn(folder).length > 0) return;
  }
  assertExists(paths);
  throw foreign(paths.dir, "there is no log in it");
}

function neverUsed({ dir }: StorePaths): TurnlogError {
  return new TurnlogError(
    "LOG_NOT_FOUND",
    `There is nothing to repair in ${dir}: the store has no log yet, so nothing was recorded in it. Nothing was changed. Opening the store for writing creates the log.`,
    { details: { dir } },
  );
}

async function repairLocked(paths: StorePaths): Promise<RepairReport> {
  const findings: string[] = [];
  const store = await storeOf(paths, findings);
  const last = reachedOf(paths, store, findings);
  const damages = await fileFindings(paths, last);
  findings.push(...damages);
  const given = { store, last, findings };
  // LevelDB must not open damaged files: its assertions would end this process.
  const rebuilt =
    (damages.length === 0 ? await rebuiltFromFiles(paths, given) : undefined) ??
    (await rebuild(paths, given, false));
  const { copy, generation } = rebuilt;
  if (findings.length === 0) {
    const blobs = await checkBlobs(paths, copy.blobs);
    return reportOf(paths.dir, { copy, blobs, findings, reached: 0 }, undefined);
  }
  await rename(join(paths.repairing, "to"), paths.repaired);
  const damaged = await putRepaired(paths, true);
  // First: until `store.json` says otherwise, the file of another generation is as good as none.
  await createReached(paths, { generation, position: copy.end.position, emptyLog: 0 });
  await writeStoreFile(paths, {
    format: FORMAT,
    generation,
    reached: copy.end,
    keepsReached: true,
  });
  await syncFolder(paths.dir);
  const blobs = await checkBlobs(paths, copy.blobs);
  const reached = lastKnown(store ?? newStore, last);
  return reportOf(paths.dir, { copy, blobs, findings, reached }, damaged);
}

async function storeOf(paths: StorePaths, findings: string[]): Promise<StoreFile | undefined> {
  try {
    const store = readStoreFile(paths);
    if (store === undefined) findings.push("store.json is missing");
    return store;
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "LOG_DAMAGED") throw error;
    findings.push("store.json cannot be read, or is altered");
    return undefined;
  }
}

/** What `store.reached` says, if it can be read. */
function reachedOf(
  paths: StorePaths,
  store: StoreFile | undefined,
  findings: string[],
): Reached | undefined {
  try {
    return readReached(paths, store);
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    findings.push("store.reached, which records how far the log had come, is missing or altered");
    return undefined;
  }
}

interface Given {
  readonly store: StoreFile | undefined;
  readonly last: Reached | undefined;
  readonly findings: string[];
}

interface Rebuilt {
  readonly copy: StoreCopy;
  readonly generation: number;
}

/** By LevelDB, from links to the files; undefined if it finds them damaged. */
async function rebuiltFromFiles(paths: StorePaths, given: Given): Promise<Rebuilt | undefined> {
  try {
    return await rebuild(paths, given, true);
  } catch (error) {
    const failure = storeFailure(error, paths.dir, "repaired");
    if (failure.code !== "LOG_DAMAGED") throw failure;
    given.findings.push(failure.message);
    return undefined;
  }
}

/** Makes a new log from all readable rows, in a folder of its own, and finds out what is wrong with them. */
async function rebuild(
  paths: StorePaths,
  { store, last, findings }: Given,
  areSound: boolean,
): Promise<Rebuilt> {
  const [from, to] = [join(paths.repairing, "from"), join(paths.repairing, "to")];
  await rm(paths.repairing, { recursive: true, force: true });
  makePrivateFolder(paths.repairing);
  if (areSound) linkFolder(paths.log, from, liveFiles(paths.log));
  const source = await levelAt(from, !areSound);
  const target = await levelAt(to, true);
  let rebuilt: Rebuilt;
  try {
    await source.open();
    if (!areSound) await salvage(paths, source);
    const found = await readFormat(source, paths.dir);
    const format = typeof found === "string" ? undefined : found;
    if (format === undefined) {
      if (store === undefined && last === undefined)
        throw foreign(paths.log, "no row in it says that it is turnlog's");
      findings.push("the row that says what the log is, is missing");
    }
    if (areSound) await checkEnd(source, format, { store, last, findings });
    await target.open();
    const copy = new StoreCopy(source, target, {
      indexed: (await lastChecked(source)).position,
      onDamage: ({ session, position, why }) => {
        findings.push(session === undefined ? why : `${session}:${position}: ${why}`);
      },
    });
    await copy.write();
    if (copy.badSnapshots > 0) findings.push(`${copy.badSnapshots} snapshots cannot be used`);
    const known = [store, last, format].map((one) => one?.generation ?? 0);
    const generation = 1 + Math.max(0, ...known);
    await writeFormat(target, generation);
    await flush(target);
    rebuilt = { copy, generation };
  } finally {
    await source.close();
    await target.close();
  }
  keepFilesPrivate(to);
  await syncFolder(to);
  return rebuilt;
}

/** The end of the log, against what it had certainly reached. */
async function checkEnd(
  database: RowStore,
  format: Format | undefined,
  { store, last, findings }: Given,
): Promise<void> {
  try {
    const isOf = (one: { readonly generation: number } | undefined): boolean =>
      format !== undefined && one?.generation === format.generation;
    await checkChain(
      database,
      store !== undefined && isOf(store) ? store.reached : chainStart,
      last !== undefined && isOf(last) ? last.position : 0,
    );
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "LOG_DAMAGED") throw error;
    findings.push(error.message);
  }
}

// The report of a repair.

interface RepairedSession {
  readonly session: string;
  /** Its last position now; 0 if nothing of it is left. */
  readonly kept: number;
  /** The first position that it lost. */
  readonly lostFrom: number;
  /** Rows behind the kept ones, good or bad: only the damaged files have them. */
  readonly quarantined: number;
  /** Positions of which nothing was found. */
  readonly missing: number;
}

export interface RepairReport {
  readonly dir: string;
  /** False if nothing was changed: the log was intact, and no blob was altered. */
  readonly changed: boolean;
  /** What was wrong, one sentence each. */
  readonly findings: readonly string[];
  /** Only the sessions that lost something. */
  readonly lost: readonly RepairedSession[];
  readonly sessions: number;
  readonly events: number;
  /** All rows that only the damaged files have, including those with unreadable keys. */
  readonly quarantined: number;
  /** Positions of which nothing was found, over all sessions. */
  readonly missing: number;
  /** The least number of lost events whose session is unknown. */
  readonly unaccounted: number;
  /** How many blobs that events refer to exist, each once. */
  readonly blobs: number;
  /** The other blobs, each with the first event that refers to it. */
  readonly lostBlobs: readonly LostBlob[];
  /** The folder with the damaged files. Delete it when you no longer need it. */
  readonly damagedFiles?: string;
}

interface Findings {
  readonly copy: StoreCopy;
  readonly blobs: CheckedBlobs;
  readonly findings: readonly string[];
  /** The global position that the log had certainly reached. */
  readonly reached: number;
}

function reportOf(
  dir: string,
  { copy, blobs, findings, reached }: Findings,
  damagedFiles: string | undefined,
): RepairReport {
  const { sessions, strays, events } = copy;
  const lost = [...sessions]
    .filter(([, { kept, known }]) => known > kept)
    .map(([session, { shared, kept, known, after }]) => ({
      session,
      kept,
      lostFrom: shared + kept + 1,
      quarantined: after,
      missing: Math.max(0, known - shared - kept - after),
    }));
  return {
    dir,
    changed:
      damagedFiles !== undefined || blobs.lost.some(({ setAside }) => setAside !== undefined),
    findings,
    lost,
    sessions: [...sessions.values()].filter(({ kept }) => kept > 0).length,
    events,
    quarantined: [...sessions.values()].reduce((sum, { after }) => sum + after, strays),
    missing: lost.reduce((sum, { missing }) => sum + missing, 0),
    unaccounted: Math.max(0, reached - accounted(copy)),
    blobs: blobs.blobs,
    lostBlobs: blobs.lost,
    ...(damagedFiles === undefined ? {} : { damagedFiles }),
  };
}

/** Events with any trace left; counts rather too many than too few. */
function accounted({ sessions, deleted, strays }: StoreCopy): number {
  const ofSessions = [...sessions.values()].map(
    ({ kept, known, after, shared, link }) =>
      Math.max(known, kept + after) - (link?.position ?? shared),
  );
  return [...deleted.values(), ...ofSessions].reduce((sum, events) => sum + events, strays);
}

// Checks the blobs that a repaired log refers to. A lost blob can only come back from a copy; an
// altered one is set aside, so that it counts as missing.

interface LostBlob extends StoredBlob {
  /** Where the altered bytes are. Delete the file when you no longer need it. */
  readonly setAside?: string;
}

interface CheckedBlobs {
  /** How many of the blobs that events refer to exist, each once. */
  readonly blobs: number;
  /** The other blobs, each with the first event that refers to it. */
  readonly lost: readonly LostBlob[];
}

async function checkBlobs(
  paths: StorePaths,
  blobs: ReadonlyMap<string, StoredBlob>,
): Promise<CheckedBlobs> {
  const stored = folderBlobs(paths.blobs);
  const lost: LostBlob[] = [];
  for (const blob of blobs.values()) {
    try {
      for await (const _ of stored.get(blob.sha256)) void _;
    } catch (error) {
      const code = TurnlogError.isInstance(error) ? error.code : undefined;
      if (code === "BLOB_DAMAGED")
        lost.push({ ...blob, setAside: await setAside(paths, blob.sha256) });
      else if (code === "BLOB_MISSING") lost.push(blob);
      else throw error;
    }
  }
  return { blobs: blobs.size - lost.length, lost };
}

async function setAside({ blobs, damagedBlobs }: StorePaths, sha256: string): Promise<string> {
  makePrivateFolder(damagedBlobs);
  const before = namesIn(damagedBlobs).filter((name) => name.startsWith(sha256)).length;
  const aside = join(damagedBlobs, before === 0 ? sha256 : `${sha256}-${before + 1}`);
  await rename(join(blobs, sha256.slice(0, 2), sha256), aside);
  return aside;
}

// Reads the good rows of a damaged log directly from LevelDB's files.

/** The damage of the files themselves, one sentence each. */
export async function fileFindings(
  paths: StorePaths,
  reached: Reached | undefined,
): Promise<string[]> {
  const incomplete = await whyIncomplete(paths);
  if (incomplete !== undefined) return [incomplete];
  const findings: string[] = [];
  const look = async (files: readonly LogFile[], damageIn: typeof damageInLog): Promise<void> => {
    for (const { path } of files) {
      const damage = damageIn(await bytesOf(path));
      if (damage !== undefined) findings.push(`${path} is altered at byte ${damage.offset}`);
    }
  };
  const files = liveFiles(paths.log);
  const { logs, tables } = files;
  const missing = missingLog(paths, files, reached);
  if (missing !== undefined) findings.push(missing);
  await look(logs, damageInLog);
  await look(tables, damageInTable);
  return findings;
}

async function whyIncomplete({ log }: StorePaths): Promise<string | undefined> {
  const names = namesIn(log);
  if (!names.includes("CURRENT")) return "the file CURRENT is missing";
  const manifest = (await readFile(join(log, "CURRENT"), "utf8")).trim();
  return names.includes(manifest)
    ? undefined
    : `CURRENT names ${JSON.stringify(manifest)}, which is missing`;
}

/** Fills a new database with the newest version of every readable row. */
export async function salvage(paths: StorePaths, target: RowStore): Promise<void> {
  const newest = new Map<string, number>();
  for await (const { key, sequence } of fileRows(paths))
    newest.set(key, Math.max(sequence, newest.get(key) ?? 0));
  const writer = new BatchWriter(target);
  for await (const { key, sequence, value } of fileRows(paths))
    if (value !== undefined && newest.get(key) === sequence) await writer.put(key, value);
  await writer.flush();
}

async function* fileRows({ log }: StorePaths): AsyncGenerator<FileRow> {
  const looks = [
    { ending: ".ldb", rowsOf: rowsOfTable },
    { ending: ".log", rowsOf: rowsOfLog },
  ] as const;
  for (const { ending, rowsOf } of looks) {
    for (const { path } of filesOf(log, ending))
      for (const row of rowsOf(await bytesOf(path)))
        if (row.isDoubtful !== true || isWhole(row)) yield row;
  }
}

/** Whether a row of a damaged block is what was written, by its own checksum. */
function isWhole({ key, value }: FileRow): boolean {
  if (value === undefined) return false;
  const place = parseEventKey(key);
  return place === undefined ? rowContent(key, value) !== undefined : isIntact(value, place);
}
