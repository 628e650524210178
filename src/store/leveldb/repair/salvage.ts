/** Reads the good rows of a damaged log directly from LevelDB's files. */

import { isIntact } from "../../../events/index.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BatchWriter, type Database } from "../rows/database.ts";
import { parseEventKey } from "../rows/keys.ts";
import { rowContent } from "../rows/commit-record.ts";
import { damageInLog, rowsOfLog } from "../format/log-file.ts";
import type { FileRow } from "../format/bytes.ts";
import { damageInTable, rowsOfTable } from "../format/table-file.ts";
import { bytesOf, filesOf, liveFiles, type LogFile } from "../files/log-folder.ts";
import { missingLog } from "../files/file-check.ts";
import type { Reached } from "../files/reached-file.ts";
import { namesIn, type StorePaths } from "../files/store-files.ts";

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
export async function salvage(paths: StorePaths, target: Database): Promise<void> {
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
