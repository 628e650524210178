/** Checks a log's rows as a whole against `store.json`, when the store is opened. */

import { checkChain, type CheckedChain } from "../read/index.ts";
import { chainStart, type ChainMark, type Database, dropStaged } from "../rows/index.ts";
import {
  formatDamage,
  readFormat,
  writeFormat,
  type StoreFile,
  type StorePaths,
} from "../files/index.ts";

export interface CheckedRows {
  readonly generation: number;
  readonly chain: CheckedChain;
}

/** Writes the first row of a new log. @throws TurnlogError `LOG_DAMAGED`, `LOG_FOREIGN` */
export async function checkRows(
  database: Database,
  { dir }: StorePaths,
  store: StoreFile,
): Promise<CheckedRows> {
  let format = await readFormat(database, dir);
  if (format === "foreign" || (format === "none" && store.reached.position > 0))
    throw formatDamage(dir);
  if (format === "none") format = await writeFormat(database, store.generation);
  await dropStaged(database);
  const { generation } = format;
  const known: ChainMark = generation === store.generation ? store.reached : chainStart;
  return { generation, chain: await checkChain(database, known) };
}
