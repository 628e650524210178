/** `level` is LevelDB in Node. Its types are those of every platform, so what only LevelDB has is found out here. */

import { Level } from "level";

import { makePrivateFolder } from "../../folder/index.ts";
import type { Span } from "../rows/index.ts";

interface Flushable {
  compactRange(start: string, end: string): Promise<void>;
}

export type LevelDb = Level;

export function levelAt(location: string, createIfMissing: boolean): LevelDb {
  // LevelDB would make a folder that everybody can read.
  if (createIfMissing) makePrivateFolder(location);
  return new Level(location, { createIfMissing });
}

/** A range that holds nothing: merging it costs only the moving. */
const nowhere: Span = { from: "~", to: "~~" };

/**
 * Moves what is in LevelDB's log file into a table, and merges the tables of the spans, which leaves
 * out what has been overwritten or deleted there.
 */
export async function flush(database: LevelDb, spans: readonly Span[] = []): Promise<void> {
  if (!canFlush(database)) return;
  for (const { from, to } of [nowhere, ...spans]) await database.compactRange(from, to);
}

function canFlush(database: object): database is Flushable {
  return "compactRange" in database && typeof database.compactRange === "function";
}
