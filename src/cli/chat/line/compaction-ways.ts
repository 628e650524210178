/** Compaction strategies by the names that a person can type. */

import {
  byImportance,
  checkpoint,
  dropMiddle,
  dropOldest,
  slidingWindow,
  summarize,
  type CompactionStrategy,
} from "../../../public/index.ts";

/** Turns that `drop-oldest` keeps. The turns of a chat are short. */
const KEPT_TURNS = 2;

const names = [
  "summarize",
  "checkpoint",
  "sliding-window",
  "drop-oldest",
  "drop-middle",
  "by-importance",
] as const;

export type CompactionWay = (typeof names)[number];

export const compactionWays: readonly string[] = names;

const ways: Readonly<Record<CompactionWay, () => CompactionStrategy>> = {
  summarize: () => summarize(),
  // The model can read these results again.
  checkpoint: () => checkpoint({ tools: ["read_file", "search_files"] }),
  "sliding-window": () => slidingWindow(),
  "drop-oldest": () => dropOldest({ keepTurns: KEPT_TURNS }),
  "drop-middle": () => dropMiddle(),
  "by-importance": () => byImportance(),
};

export function isCompactionWay(name: string): name is CompactionWay {
  return Object.hasOwn(ways, name);
}

export function strategyOf(way: CompactionWay): CompactionStrategy {
  return ways[way]();
}
