/** Repairs a damaged store, under its lock, in a copy that replaces the log. The damaged files stay beside it. */

import { realpathSync } from "node:fs";
import { check, flag, name, optionsOf } from "../../../validation/index.ts";
import { TurnlogError } from "../../../events/index.ts";
import { keepFilesPrivate, makePrivateFolder, syncFolder } from "../../folder/index.ts";
import {
  type StoredBlob,
  chainStart,
  type ChainMark,
  storeFailure,
  dropStaged,
} from "../rows/index.ts";
import { checkChain } from "../read/index.ts";
import {
  readFormat,
  flush,
  levelAt,
  linkFolder,
  liveFiles,
  putRepaired,
  finishInterrupted,
  restoreBeforeOpen,
  FORMAT,
  newStore,
  readStoreFile,
  writeStoreFile,
  type StoreFile,
  assertFinished,
  assertExists,
  foreign,
  hasEvents,
  logMissing,
  ownStore,
  type OwnOptions,
  type Ownership,
  draftOwner,
  namesIn,
  storePaths,
  type StorePaths,
  isUnfinished,
  createReached,
  lastKnown,
  type Reached,
  readReached,
} from "../files/index.ts";
import { fileFindings, salvage } from "./salvage.ts";
import { blobsOf, surveyBlobs } from "./blob-survey.ts";
import { mend } from "./mending.ts";
import { reportOf, type RepairReport } from "./repair-report.ts";
import { surveyStore, type Survey } from "./survey.ts";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";

export interface RepairOptions extends OwnOptions {
  readonly dir: string;
}

const schema = optionsOf<RepairOptions>({ takeOver: flag }, { dir: name });

/**
 * Repairs a store and reports what is lost. Each session keeps its events before the first missing
 * or altered one; later ones are set aside in the store, under separate keys. Blobs are checked:
 * missing ones are reported, altered ones are set aside and reported.
 * @throws TurnlogError `LOG_NOT_FOUND`, `LOG_LOCKED`, `LOG_FOREIGN`, `LOG_TOO_NEW`, `LOG_DAMAGED`
 * (the log is gone), `LOG_FULL`, `LOG_READ_ONLY`, `LOG_FAILED`
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
    `There is nothing to repair in ${dir}: the store has no log yet, and nothing was recorded in it. Nothing was changed. Opening the store for writing creates the log.`,
    { details: { dir } },
  );
}

async function repairLocked(paths: StorePaths): Promise<RepairReport> {
  const findings: string[] = [];
  const store = await storeOf(paths, findings);
  const last = reachedOf(paths, store, findings);
  const damages = await fileFindings(paths, last);
  findings.push(...damages);
  // LevelDB must not open damaged files: its assertions would end this process.
  const found = damages.length === 0 ? await examine(paths, { store, last, findings }) : undefined;
  if (found !== undefined && findings.length === 0) {
    const blobs = await surveyBlobs(paths, found.blobs);
    return reportOf(paths.dir, { ...found, blobs, findings, reached: 0 }, undefined);
  }
  const { survey, blobs: stored, end, generation } = await rebuild(paths, store, last);
  const damaged = await putRepaired(paths, true);
  // First: until `store.json` says otherwise, the file of another generation is as good as none.
  await createReached(paths, { generation, position: end.position, emptyLog: 0 });
  await writeStoreFile(paths, { format: FORMAT, generation, reached: end, keepsReached: true });
  await syncFolder(paths.dir);
  const blobs = await surveyBlobs(paths, stored);
  const reached = lastKnown(store ?? newStore, last);
  return reportOf(paths.dir, { survey, blobs, findings, reached }, damaged);
}

interface Surveyed {
  readonly survey: Survey;
  readonly blobs: readonly StoredBlob[];
}

async function storeOf(paths: StorePaths, findings: string[]): Promise<StoreFile | undefined> {
  try {
    const store = readStoreFile(paths);
    if (store === undefined) findings.push("store.json is missing");
    return store;
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "LOG_DAMAGED") throw error;
    findings.push("store.json cannot be read");
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
    findings.push("store.reached, which tells how far the log had come, is missing or altered");
    return undefined;
  }
}

interface Given {
  readonly store: StoreFile | undefined;
  readonly last: Reached | undefined;
  readonly findings: string[];
}

/** Checks the rows of a copy; undefined if LevelDB cannot open it. */
async function examine(
  paths: StorePaths,
  { store, last, findings }: Given,
): Promise<Surveyed | undefined> {
  const copy = join(paths.repairing, "copy");
  makePrivateFolder(paths.repairing);
  linkFolder(paths.log, copy, liveFiles(paths.log));
  const database = await levelAt(copy, false);
  try {
    await database.open();
    const format = await readFormat(database, paths.dir);
    if (typeof format === "string") findings.push("the row that says what the log is, is missing");
    await dropStaged(database);
    const survey = await surveyStore(database);
    findings.push(...survey.findings);
    const sameLog = typeof format !== "string" && store?.generation === format.generation;
    const lastOfThis = typeof format !== "string" && last?.generation === format.generation;
    if (findings.length === 0)
      await checkChain(
        database,
        sameLog ? store.reached : chainStart,
        lastOfThis ? last.position : 0,
      );
    return { survey, blobs: await blobsOf(database, survey) };
  } catch (error) {
    const failure = storeFailure(error, paths.dir, "repaired");
    if (failure.code !== "LOG_DAMAGED") throw failure;
    findings.push(failure.message);
    return undefined;
  } finally {
    await database.close();
    await rm(paths.repairing, { recursive: true });
  }
}

interface Rebuilt extends Surveyed {
  readonly end: ChainMark;
  readonly generation: number;
}

/** Makes a new log from all readable rows, in `log.repaired`. */
async function rebuild(
  paths: StorePaths,
  store: StoreFile | undefined,
  last: Reached | undefined,
): Promise<Rebuilt> {
  const to = join(paths.repairing, "to");
  makePrivateFolder(paths.repairing);
  const source = await levelAt(join(paths.repairing, "from"), true);
  const target = await levelAt(to, true);
  let rebuilt: Rebuilt;
  try {
    await source.open();
    await salvage(paths, source);
    const format = await readFormat(source, paths.dir);
    if (typeof format === "string" && store === undefined && last === undefined) {
      throw foreign(paths.log, "no row in it says that it is turnlog's");
    }
    const known = [store, last, typeof format === "string" ? undefined : format];
    const generation = 1 + Math.max(0, ...known.map((one) => one?.generation ?? 0));
    await target.open();
    await dropStaged(source);
    const survey = await surveyStore(source);
    const end = await mend(source, target, survey, generation);
    await flush(target);
    rebuilt = { survey, blobs: await blobsOf(source, survey), end, generation };
  } finally {
    await source.close();
    await target.close();
  }
  keepFilesPrivate(to);
  await syncFolder(to);
  await rename(to, paths.repaired);
  return rebuilt;
}
