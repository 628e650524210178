/**
 * Reads LevelDB's files before LevelDB does. It does not check the CRCs of its tables, and altered
 * rows can end the whole process in an assertion; of its log file it drops what it cannot read.
 */

import { TurnlogError } from "../../errors.ts";
import { damageInLog } from "../format/log-file.ts";
import type { FileDamage } from "../format/row.ts";
import { damageInTable } from "../format/table-file.ts";
import { parseEventKey } from "../keys.ts";
import { bytesOf, type LiveFiles } from "./log-folder.ts";
import { diedAs } from "./owner.ts";
import type { StorePaths } from "./store-paths.ts";

/** Some 15 ms. What is older was read at its turn by an opening before. */
const BYTES_AFTER_CLOSE = 16 * 1024 * 1024;
/** About a second: an assertion that ended the process shall not do it again and again. */
const BYTES_AFTER_DEATH = 1024 * 1024 * 1024;

/** @throws TurnlogError `LOG_DAMAGED` */
export async function checkFiles(paths: StorePaths, { tables, logs }: LiveFiles): Promise<void> {
  const died = await diedAs(paths);
  // Without syncing, a power cut leaves what was written last in any order: the chain of commits tells.
  if (died === "sync") for (const { path } of logs) await check(path, damageInLog);
  let left = died === undefined ? BYTES_AFTER_CLOSE : BYTES_AFTER_DEATH;
  for (const { path, size } of tables) {
    left -= size;
    if (left < 0) return;
    await check(path, damageInTable);
  }
}

async function check(
  path: string,
  damageIn: (file: Uint8Array) => FileDamage | undefined,
): Promise<void> {
  const damage = damageIn(await bytesOf(path));
  if (damage !== undefined) throw fileDamage(path, damage);
}

function fileDamage(path: string, { offset, after }: FileDamage): TurnlogError {
  const place = after === undefined ? undefined : parseEventKey(after);
  const where = place === undefined ? "" : `, from ${place.session}:${place.seq + 1} on`;
  return new TurnlogError(
    "LOG_DAMAGED",
    `The log is damaged: ${path} is altered at byte ${offset}${where}. Nothing was changed. Copy the folder, then run \`turnlog repair\`.`,
    {
      ...(place === undefined ? {} : { session: place.session, position: place.seq + 1 }),
      details: { path, offset },
    },
  );
}
