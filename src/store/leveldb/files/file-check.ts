/**
 * Checks LevelDB's files before LevelDB opens them: it ignores the CRCs of its tables, where altered rows
 * can end the process in an assertion, and drops what it cannot read of its log file.
 */

import { basename } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { bytesOf, type LogFile, type LiveFiles, numberOfFile } from "./log-folder.ts";
import { TurnlogError } from "../../../events/index.ts";
import { damageInLog } from "../format/log-file.ts";
import type { FileDamage } from "../format/bytes.ts";
import { damageInTable } from "../format/table-file.ts";
import { parseEventKey } from "../../row-engine/rows/keys.ts";
import { diedAs } from "./owner.ts";
import type { Reached } from "./reached-file.ts";
import { incomplete, type StorePaths } from "./store-files.ts";

/** Some 10 ms with known sums. Earlier openings checked older files. */
const BYTES_AFTER_CLOSE = 16 * 1024 * 1024;
/** About a second: an assertion that ended the process must not end it again and again. */
const BYTES_AFTER_DEATH = 1024 * 1024 * 1024;

/**
 * `reached`: as {@link missingLog}.
 * @throws TurnlogError `LOG_DAMAGED`
 */
export async function checkFiles(
  paths: StorePaths,
  files: LiveFiles,
  {
    sums = {},
    reached,
  }: { readonly sums: TableSums | undefined; readonly reached?: Reached | undefined },
): Promise<void> {
  const { tables, logs } = files;
  const died = diedAs(paths);
  const missing = missingLog(paths, files, reached);
  if (missing !== undefined) throw incomplete(paths.log, missing);
  // Without syncing a power cut may lose writes in any order; then the commit chain decides.
  if (died === "sync") {
    for (const { path } of logs) assertGood(path, damageInLog(await bytesOf(path)));
  }
  let budget = died === undefined ? BYTES_AFTER_CLOSE : BYTES_AFTER_DEATH;
  for (const { path, size } of tables) {
    budget -= size;
    if (budget < 0) return;
    const bytes = await bytesOf(path);
    if (!isAsClosed(path, bytes, sums)) assertGood(path, damageInTable(bytes));
  }
}

/**
 * Says that the log file of the manifest is gone, which LevelDB takes for an empty one. It creates the file
 * before it writes the name into its manifest, and a later name before it deletes the file. A file that was
 * empty at the last closing may be gone: copies often leave out what ends in `.log`.
 * @param reached - What `store.reached` says, if it can be read.
 */
export function missingLog(
  paths: StorePaths,
  { logs, firstLog }: LiveFiles,
  reached: Reached | undefined,
): string | undefined {
  if (firstLog === 0 || logs.some(({ path }) => numberOfFile(path) === firstLog)) return undefined;
  if (reached === undefined ? diedAs(paths) === undefined : reached.emptyLog === firstLog)
    return undefined;
  const name = `${String(firstLog).padStart(6, "0")}.log`;
  return `its file ${name}, which held the newest events, is missing`;
}

function assertGood(path: string, damage: FileDamage | undefined): void {
  if (damage !== undefined) throw fileDamage(path, damage);
}

function fileDamage(path: string, { offset, after }: FileDamage): TurnlogError {
  const place = after === undefined ? undefined : parseEventKey(after);
  const where = place === undefined ? "" : `, from ${place.session}:${place.position + 1} on`;
  return new TurnlogError(
    "LOG_DAMAGED",
    `The log is damaged: ${path} is altered at byte ${offset}${where}. Nothing was changed. Copy the folder, then run \`turnlog repair\`.`,
    {
      ...(place === undefined ? {} : { session: place.session, position: place.position + 1 }),
      details: { path, offset },
    },
  );
}

export type TableSums = Readonly<Record<string, number>>;

export const tableSumsSchema: z.ZodType<TableSums> = z.record(z.string(), z.int().nonnegative());

/** Known sums are not computed again. */
export async function sumTables(tables: readonly LogFile[], known: TableSums): Promise<TableSums> {
  const sums: Record<string, number> = {};
  for (const { path } of tables) {
    const name = basename(path);
    sums[name] = known[name] ?? crc32(await bytesOf(path));
  }
  return sums;
}

function isAsClosed(path: string, bytes: Uint8Array, sums: TableSums): boolean {
  return sums[basename(path)] === crc32(bytes);
}
