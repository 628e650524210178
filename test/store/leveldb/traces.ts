/** What anybody with a store's files can find in their bytes. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { rowsOfLog } from "../../../src/store/leveldb/format/log-file.ts";
import type { FileRow } from "../../../src/store/leveldb/format/bytes.ts";
import { rowsOfTable } from "../../../src/store/leveldb/format/table-file.ts";

/** All rows in LevelDB's files, also deleted ones that are still there, as `key value`. */
async function bytesOf(dir: string): Promise<string> {
  const texts: string[] = [];
  const log = join(dir, "log");
  for (const name of await readdir(log)) {
    // Reading a lock file would drop its lock.
    if (!/\.(ldb|log)$/.test(name)) continue;
    const bytes = new Uint8Array(await readFile(join(log, name)));
    const rows: Iterable<FileRow> = name.endsWith(".ldb") ? rowsOfTable(bytes) : rowsOfLog(bytes);
    for (const { key, value } of rows) texts.push(`${key} ${value ?? ""}`);
    texts.push(new TextDecoder("latin1").decode(bytes));
  }
  return texts.join("\n");
}

/** The matches of a pattern in the bytes of a store. */
export async function traces(dir: string, pattern: RegExp): Promise<readonly string[]> {
  const found = (await bytesOf(dir)).matchAll(new RegExp(pattern, "g"));
  return [...new Set([...found].map(([text]) => text))].toSorted();
}
