/** LevelDB in Node. The types of `level` cover all platforms, so LevelDB's own methods are detected here. */

import type { Level } from "level";

import { makePrivateFolder } from "../../folder/index.ts";
import type { Span } from "../../row-engine/rows/spare-rows.ts";

interface Flushable {
  compactRange(start: string, end: string): Promise<void>;
}

export type LevelDb = Level;

/**
 * The package starts to load the native code, so that opening a store does not wait for it. If it cannot be loaded,
 * opening a store throws the error.
 */
const loading = import("level");
loading.catch(() => {});

export async function levelAt(location: string, createIfMissing: boolean): Promise<LevelDb> {
  const { Level } = await loading;
  // LevelDB would create a folder that everybody can read.
  if (createIfMissing) makePrivateFolder(location);
  return new Level(location, { createIfMissing });
}

/** An empty range: merging it only moves the log file into a table. */
const nowhere: Span = { from: "~", to: "~~" };

/** Moves LevelDB's log file into a table, and merges the tables of the spans, which removes old rows. */
export async function flush(database: LevelDb, spans: readonly Span[] = []): Promise<void> {
  if (!canFlush(database)) return;
  for (const { from, to } of [nowhere, ...spans]) await database.compactRange(from, to);
}

function canFlush(database: object): database is Flushable {
  return "compactRange" in database && typeof database.compactRange === "function";
}
