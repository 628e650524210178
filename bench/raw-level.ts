/** The floor under any log on LevelDB: the rows of a finished session, written by `level` alone. */

import { join } from "node:path";
import { Level } from "level";
import { mark, writtenBytes } from "./meter.ts";

const ROWS_PER_BATCH = 64;

export type Row = readonly [key: string, value: string];

export interface RawCost {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly writtenBytes: number | undefined;
}

/** Every row of a store that nobody has open. */
export async function readRows(store: string): Promise<readonly Row[]> {
  const database = new Level(join(store, "log"));
  try {
    return await database.iterator().all();
  } finally {
    await database.close();
  }
}

/** What all rows cost in chained batches, until the database is closed again. */
export async function writeRows(
  rows: readonly Row[],
  { dir, sync }: { readonly dir: string; readonly sync: boolean },
): Promise<RawCost> {
  const database = new Level(dir);
  await database.open();
  const writtenBefore = writtenBytes();
  const start = mark();
  for (let from = 0; from < rows.length; from += ROWS_PER_BATCH) {
    const batch = database.batch();
    for (const [key, value] of rows.slice(from, from + ROWS_PER_BATCH)) batch.put(key, value);
    await batch.write({ sync });
  }
  await database.close();
  const end = mark();
  const written = writtenBytes();
  return {
    cpuMs: end.cpuMs - start.cpuMs,
    wallMs: end.wallMs - start.wallMs,
    writtenBytes:
      written === undefined || writtenBefore === undefined ? undefined : written - writtenBefore,
  };
}
