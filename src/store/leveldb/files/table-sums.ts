/**
 * What LevelDB's tables were when the store was closed: a checksum of each whole file, by native
 * code. The next opening compares it, instead of looking at every block. Tables never change; one
 * whose number was given to another file has another sum, and is looked at.
 */

import { basename } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { bytesOf, type LogFile } from "./log-folder.ts";

export type TableSums = Readonly<Record<string, number>>;

export const tableSumsSchema: z.ZodType<TableSums> = z.record(z.string(), z.int().nonnegative());

/** The sums of these tables; those that are known are not read again. */
export async function sumTables(tables: readonly LogFile[], known: TableSums): Promise<TableSums> {
  const sums: Record<string, number> = {};
  for (const { path } of tables) {
    const name = basename(path);
    sums[name] = known[name] ?? crc32(await bytesOf(path));
  }
  return sums;
}

/** Whether a table is, to the byte, what it was when the store was closed. */
export function isAsClosed(path: string, bytes: Uint8Array, sums: TableSums): boolean {
  return sums[basename(path)] === crc32(bytes);
}
