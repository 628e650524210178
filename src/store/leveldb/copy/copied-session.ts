/** What is known of one session while its store is copied. */

import type { ForkPoint } from "../../../events/index.ts";
import type { IndexEntry } from "../rows/session-rows.ts";

export interface CopiedSession {
  link: ForkPoint | undefined;
  /** How many positions a fork shares with its origin, if the copy keeps nothing of it: the fork did not lose those. */
  shared: number;
  /** The last position that the copy has. */
  kept: number;
  /** Events behind the kept ones; an unreadable row counts as one. */
  after: number;
  /** The last position among those behind: a merged row may stand beside what it replaced. */
  counted: number;
  /** The highest position that any row names. */
  known: number;
  /** The last position whose place in the global order is written; undefined before the first. */
  placed: number | undefined;
  /** Kept events with an id whose rows are not written yet, in order. */
  ids: { readonly position: number; readonly id: string }[];
  createdAt: number;
  updatedAt: number;
  index: IndexEntry | undefined;
}

export function newSession(): CopiedSession {
  return {
    link: undefined,
    shared: 0,
    kept: 0,
    after: 0,
    counted: 0,
    known: 0,
    placed: undefined,
    ids: [],
    createdAt: 0,
    updatedAt: 0,
    index: undefined,
  };
}

export function ownEventCount({ kept, link }: CopiedSession): number {
  return kept - (link?.position ?? 0);
}
