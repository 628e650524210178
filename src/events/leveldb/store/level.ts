/** `level` is LevelDB in Node. Its types are those of every platform, so what only LevelDB has is found out here. */

import { Level } from "level";

import type { Span } from "../spare-rows.ts";

interface Flushable {
  compactRange(start: string, end: string): Promise<void>;
}

export type LevelDb = Level;

export function levelAt(location: string, createIfMissing: boolean): LevelDb {
  return new Level(location, { createIfMissing });
}

/** Moves what is in LevelDB's log file into a table: a range that holds nothing costs only that. */
export async function flush(database: LevelDb): Promise<void> {
  await merge(database, { from: "~", to: "~~" });
}

/** Merges the tables of a range, which leaves out what has been overwritten or deleted. */
export async function merge(database: LevelDb, { from, to }: Span): Promise<void> {
  if (canFlush(database)) await database.compactRange(from, to);
}

function canFlush(database: object): database is Flushable {
  return "compactRange" in database && typeof database.compactRange === "function";
}
