/** The ways of compacting by the names that a person can type. */

import {
  checkpoint,
  dropMiddle,
  dropOldest,
  slidingWindow,
  summarize,
  type CompactionStrategy,
} from "../../public/index.ts";

/** Turns that `drop-oldest` leaves: in a chat they are short. */
const KEPT_TURNS = 2;

const names = ["summarize", "checkpoint", "sliding-window", "drop-oldest", "drop-middle"] as const;

export type CompactionWay = (typeof names)[number];

export const compactionWays: readonly string[] = names;

const ways: Readonly<Record<CompactionWay, () => CompactionStrategy>> = {
  summarize: () => summarize(),
  // What the folder's tools have read can be read again.
  checkpoint: () => checkpoint({ tools: ["read_file", "search_files"] }),
  "sliding-window": () => slidingWindow(),
  "drop-oldest": () => dropOldest({ keepTurns: KEPT_TURNS }),
  "drop-middle": () => dropMiddle(),
};

export function isCompactionWay(name: string): name is CompactionWay {
  return Object.hasOwn(ways, name);
}

export function strategyOf(way: CompactionWay): CompactionStrategy {
  return ways[way]();
}
