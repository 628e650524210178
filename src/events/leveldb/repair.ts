/**
 * Mends a damaged store, under its lock, in a copy that takes the log's place when it is complete.
 * The damaged files are kept beside it. A store with nothing wrong is not touched.
 */

import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { TurnlogError } from "../errors.ts";
import { checkChain } from "./chain-check.ts";
import { chainStart, type ChainMark } from "./commit-record.ts";
import { storeFailure } from "./failures.ts";
import { readFormat } from "./format-row.ts";
import { flush, levelAt, repairLevel } from "./leveldb.ts";
import { mend } from "./mending.ts";
import { linkFolder, putRepaired, settle, takeBack } from "./open-guard.ts";
import { reportOf, type RepairReport } from "./repair-report.ts";
import { FORMAT, readStoreFile, writeStoreFile, type StoreFile } from "./store-file.ts";
import { foreign } from "./store-files.ts";
import { takeLock } from "./store-lock.ts";
import { namesIn, storePaths, type StorePaths } from "./store-paths.ts";
import { surveyStore, type Survey } from "./survey.ts";

/**
 * Mends what can be mended and says what is gone. Each session keeps its events up to the first
 * that is missing or altered; later ones are set aside in the store, under keys of their own.
 * @throws TurnlogError `LOG_LOCKED`, `LOG_FOREIGN`, `LOG_FULL`, `LOG_READ_ONLY`, `LOG_DAMAGED`
 * (when LevelDB itself cannot read anything of it), `LOG_FAILED`
 */
export async function repairLog({ dir }: { readonly dir: string }): Promise<RepairReport> {
  const paths = storePaths(dir);
  await assertLog(paths);
  const hadLock = (await namesIn(paths.lock)).length > 0;
  const lock = await takeLock(paths);
  try {
    await settle(paths);
    await takeBack(paths);
    return await repairLocked(paths);
  } catch (error) {
    throw storeFailure(error, dir);
  } finally {
    await rm(paths.repairing, { recursive: true, force: true });
    await lock.release();
    if (!hadLock && !(await namesIn(dir)).includes("store.json")) await rm(paths.lock, { recursive: true });
  }
}

/** @throws TurnlogError `LOG_FOREIGN` */
async function assertLog(paths: StorePaths): Promise<void> {
  for (const folder of [paths.log, paths.beforeOpen, paths.repaired]) {
    if ((await namesIn(folder)).length > 0) return;
  }
  throw foreign(paths.dir, "there is no log in it");
}

async function repairLocked(paths: StorePaths): Promise<RepairReport> {
  const findings: string[] = [];
  const store = await storeOf(paths, findings);
  const found = await examine(paths, store, findings);
  if (found !== undefined && findings.length === 0) return reportOf(paths.dir, found, findings, undefined);
  const { from, to } = await workFolders(paths);
  await repairLevel(from);
  const generation = Math.max(store?.generation ?? 0, found?.generation ?? 0) + 1;
  const { survey, end } = await rebuild(paths, { from, to }, generation, store !== undefined);
  await rename(to, paths.repaired);
  const damaged = await putRepaired(paths, true);
  await writeStoreFile(paths, { format: FORMAT, generation, reached: end });
  return reportOf(paths.dir, survey, findings, damaged);
}

/** What a store says of itself beside its rows. */
async function storeOf(paths: StorePaths, findings: string[]): Promise<StoreFile | undefined> {
  try {
    const store = await readStoreFile(paths);
    if (store === undefined) findings.push("store.json is missing");
    return store;
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "LOG_DAMAGED") throw error;
    findings.push("store.json cannot be read");
    return undefined;
  }
}

/** Looks at a copy as it is; undefined when LevelDB cannot open or read it. */
async function examine(
  paths: StorePaths,
  store: StoreFile | undefined,
  findings: string[],
): Promise<(Survey & { readonly generation: number }) | undefined> {
  if (!(await namesIn(paths.log)).includes("CURRENT")) {
    findings.push("the file CURRENT is missing");
    return undefined;
  }
  const { from } = await workFolders(paths);
  const database = levelAt(from, false);
  try {
    await database.open();
    const format = await readFormat(database, paths.dir);
    const generation = typeof format === "string" ? 0 : format.generation;
    if (typeof format === "string") {
      if (store === undefined) throw foreign(paths.log, "no row in it says that it is turnlog's");
      findings.push("the row that says what the log is, is missing");
    }
    const survey = await surveyStore(database);
    findings.push(...survey.findings);
    const known = store?.generation === generation ? store.reached : chainStart;
    if (findings.length === 0) await checkChain(database, known);
    return { ...survey, generation };
  } catch (error) {
    const failure = storeFailure(error, paths.dir);
    if (failure.code !== "LOG_DAMAGED") throw failure;
    findings.push(failure.message);
    return undefined;
  } finally {
    await database.close();
  }
}

/** A copy of the log to work on, and a place for the new one. */
async function workFolders({ log, repairing }: StorePaths): Promise<{ readonly from: string; readonly to: string }> {
  const from = join(repairing, "from");
  await rm(repairing, { recursive: true, force: true });
  await mkdir(repairing);
  await linkFolder(log, from);
  return { from, to: join(repairing, "to") };
}

async function rebuild(
  { dir, log }: StorePaths,
  { from, to }: { readonly from: string; readonly to: string },
  generation: number,
  ours: boolean,
): Promise<{ readonly survey: Survey; readonly end: ChainMark }> {
  const source = levelAt(from, false);
  const target = levelAt(to, true);
  try {
    await source.open();
    const format = await readFormat(source, dir);
    if (typeof format === "string" && !ours) throw foreign(log, "no row in it says that it is turnlog's");
    await target.open();
    const survey = await surveyStore(source);
    const end = await mend(source, target, survey, generation);
    await flush(target);
    return { survey, end };
  } finally {
    await source.close();
    await target.close();
  }
}
