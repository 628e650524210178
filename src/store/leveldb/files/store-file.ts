/**
 * The two marks of a store. `store.json` marks the folder, and tells how far its log had certainly
 * come. `m/format` is the first row of the log, on disk before anything else.
 */

import { statSync } from "node:fs";
import { z } from "zod";
import { TurnlogError, assertKnownFormat } from "../../../events/index.ts";
import { firstOf, rowAt, type RowStore } from "../../row-engine/rows/row-store.ts";
import { formatKey } from "../../row-engine/rows/keys.ts";
import {
  checksumOf,
  withChecksum,
  rowContent,
  chainStart,
  type ChainMark,
  markSchema,
  storedMark,
} from "../../row-engine/rows/commit-record.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import { storePaths, type StorePaths } from "./store-files.ts";
import { tableSumsSchema, type TableSums } from "./file-check.ts";

export const FORMAT = 1;

export interface StoreFile {
  readonly format: number;
  /** Counts repairs: a mark of another generation says nothing about this log. */
  readonly generation: number;
  readonly reached: ChainMark;
  /** Checksums of the tables at the last close. */
  readonly tables?: TableSums;
  /** Whether `store.reached` must be there. Absent: an earlier release, a backup or a repair wrote this. */
  readonly keepsReached?: boolean;
}

const fields = {
  format: z.int().positive(),
  generation: z.int().positive(),
  reached: markSchema,
  tables: tableSumsSchema.exactOptional(),
  keepsReached: z.boolean().exactOptional(),
};

/** Earlier releases wrote no `sum`: there an unknown name is a known one that was altered. */
const storeSchema: z.ZodType<StoreFile> = z
  .unknown()
  .refine((json) => !isAltered(json))
  .pipe(
    z.union([
      z.object({ ...fields, sum: z.string() }).transform(({ sum: _, ...file }) => file),
      z.strictObject(fields),
    ]),
  );

const withSum = z.looseObject({ sum: z.string() });

/** Whether it is not what was written: one altered bit could hide how far the log had come. */
function isAltered(json: unknown): boolean {
  const read = withSum.safeParse(json, { jitless: true }).data;
  if (read === undefined) return false;
  const { sum, ...others } = read;
  return sum !== sumOf(others);
}

function sumOf(others: object): string {
  return checksumOf(withChecksum("store.json", others));
}

export const newStore: StoreFile = { format: FORMAT, generation: 1, reached: chainStart };

/** @throws TurnlogError `LOG_DAMAGED` when it cannot be read or is altered, `LOG_TOO_NEW` for a later format */
export function readStoreFile({ store, dir }: StorePaths): StoreFile | undefined {
  const file = readJsonFile(store, storeSchema, (json) => {
    if (!isAltered(json)) assertStoreFormat(json, dir);
  });
  if (file === "none") return undefined;
  if (file === "unreadable") {
    throw new TurnlogError(
      "LOG_DAMAGED",
      `${store} cannot be read, or is altered. Run \`turnlog repair\`, which writes it again from the log.`,
    );
  }
  return file;
}

/** @throws TurnlogError `LOG_TOO_NEW` where `store.json` or the first row names a later format */
function assertStoreFormat(stored: unknown, dir: string): void {
  assertKnownFormat(`The store in ${dir}`, stored, FORMAT);
}

/** The time of the last change of a closed store, in epoch milliseconds; 0 if there was none. Does not open it. */
export function storeChangedAt(dir: string): number {
  const { store, reached } = storePaths(dir);
  const timeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Math.max(timeOf(store), timeOf(reached));
}

export async function writeStoreFile({ store }: StorePaths, file: StoreFile): Promise<void> {
  const others = { ...file, reached: storedMark(file.reached) };
  await writeJsonFile(store, { ...others, sum: sumOf(others) });
}

export interface Format {
  readonly format: number;
  readonly generation: number;
}

const formatSchema: z.ZodType<Format> = z.object({
  format: z.int().positive(),
  generation: z.int().positive(),
});

/** `none` if the database is empty. @throws TurnlogError `LOG_TOO_NEW` */
export async function readFormat(
  database: RowStore,
  dir: string,
): Promise<Format | "none" | "foreign"> {
  const row = await rowAt(database, formatKey);
  const stored = row === undefined ? undefined : rowContent(formatKey, row);
  assertStoreFormat(stored, dir);
  const format = formatSchema.safeParse(stored, { jitless: true }).data;
  if (format !== undefined) return format;
  return (await firstOf(database, {})) === undefined ? "none" : "foreign";
}

/** Always synced: LevelDB cannot open a database that lost its first write in a power cut. */
export async function writeFormat(database: RowStore, generation: number): Promise<Format> {
  const format: Format = { format: FORMAT, generation };
  const batch = database.batch();
  batch.put(formatKey, withChecksum(formatKey, format));
  await batch.write({ sync: true });
  return format;
}

export function formatDamage(dir: string): TurnlogError {
  return new TurnlogError(
    "LOG_DAMAGED",
    `The log in ${dir} has lost its first row, which records its format. Copy the folder, then run \`turnlog repair\`.`,
  );
}
