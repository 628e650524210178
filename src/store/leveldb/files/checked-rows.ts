/** Checks the rows of a store when it is opened, before anything is read: its format, and its commit chain. */

import type { RowStore } from "../../row-engine/rows/row-store.ts";
import { chainStart, type ChainMark } from "../../row-engine/rows/commit-record.ts";
import { checkChain, type CheckedChain } from "../../row-engine/read/chain-check.ts";
import { lastKnown, type Reached } from "./reached-file.ts";
import { formatDamage, readFormat, writeFormat, type StoreFile } from "./store-file.ts";
import type { StorePaths } from "./store-files.ts";

export interface CheckedRows {
  readonly generation: number;
  readonly chain: CheckedChain;
}

/** Writes the first row of a new log. @throws TurnlogError `LOG_DAMAGED`, `LOG_FOREIGN` */
export async function checkRows(
  database: RowStore,
  { dir }: StorePaths,
  store: StoreFile,
  reached: Reached | undefined,
): Promise<CheckedRows> {
  let format = await readFormat(database, dir);
  if (format === "foreign" || (format === "none" && lastKnown(store, reached) > 0))
    throw formatDamage(dir);
  if (format === "none") format = await writeFormat(database, store.generation);
  const { generation } = format;
  const known: ChainMark = generation === store.generation ? store.reached : chainStart;
  const last = generation === reached?.generation ? reached.position : 0;
  return { generation, chain: await checkChain(database, known, last) };
}
