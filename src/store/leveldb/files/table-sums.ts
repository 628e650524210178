/**
 * Checksums of LevelDB's tables at the last close. The next opening compares them instead of
 * checking every block. A table never changes; a reused number shows by another sum.
 */

import { basename } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { bytesOf, type LogFile } from "./log-folder.ts";

export type TableSums = Readonly<Record<string, number>>;

export const tableSumsSchema: z.ZodType<TableSums> = z.record(z.string(), z.int().nonnegative());

/** The sums of these tables. Known ones are not computed again. */
export async function sumTables(tables: readonly LogFile[], known: TableSums): Promise<TableSums> {
  const sums: Record<string, number> = {};
  for (const { path } of tables) {
    const name = basename(path);
    sums[name] = known[name] ?? crc32(await bytesOf(path));
  }
  return sums;
}

/** Whether a table is unchanged since the store was closed. */
export function isAsClosed(path: string, bytes: Uint8Array, sums: TableSums): boolean {
  return sums[basename(path)] === crc32(bytes);
}
