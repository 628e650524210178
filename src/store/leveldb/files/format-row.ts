/** `m/format`: the store's first row, on disk before anything else. */

import { z } from "zod";
import { TurnlogError } from "../../../events/index.ts";
import {
  firstOf,
  rowAt,
  type Database,
  formatKey,
  withChecksum,
  rowContent,
} from "../rows/index.ts";
import { assertStoreFormat, FORMAT } from "./store-file.ts";

export interface Format {
  readonly format: number;
  /** Counts repairs. */
  readonly generation: number;
}

const formatSchema: z.ZodType<Format> = z.object({
  format: z.int().positive(),
  generation: z.int().positive(),
});

/**
 * The format row of a database; `none` if the database is empty.
 * @throws TurnlogError `LOG_TOO_NEW`
 */
export async function readFormat(
  database: Database,
  dir: string,
): Promise<Format | "none" | "foreign"> {
  const row = await rowAt(database, formatKey);
  const stored = row === undefined ? undefined : rowContent(formatKey, row);
  assertStoreFormat(stored, dir);
  const format = formatSchema.safeParse(stored, { jitless: true }).data;
  if (format !== undefined) return format;
  return (await firstOf(database.keys({ limit: 1 }))) === undefined ? "none" : "foreign";
}

/** Always synced: LevelDB cannot open a database that lost its first write in a power cut. */
export async function writeFormat(database: Database, generation: number): Promise<Format> {
  const format: Format = { format: FORMAT, generation };
  const batch = database.batch();
  batch.put(formatKey, withChecksum(formatKey, format));
  await batch.write({ sync: true });
  return format;
}

export function formatDamage(dir: string): TurnlogError {
  return new TurnlogError(
    "LOG_DAMAGED",
    `The log in ${dir} has lost its first row, which says what it is. Copy the folder, then run \`turnlog repair\`.`,
  );
}
