/** What repair finds out about one session. */

import type { ForkPoint } from "../../../events/index.ts";
import type { IndexEntry } from "../rows/index.ts";

export interface SessionSurvey {
  /** Of a fork, where it branches off. */
  link: ForkPoint | undefined;
  /** Of a fork of which nothing is kept: positions before its own events, which it did not lose. */
  shared: number;
  /** Positions that were copied from a session that was deleted: no commit record names them. */
  copied: number;
  /** The last good position. */
  kept: number;
  /** Checksums of the kept rows, by their last positions. */
  readonly seals: Map<number, string>;
  /** Kept rows that were sealed: their events, both ends included, in order. */
  readonly sealed: { readonly from: number; readonly to: number }[];
  readonly ids: { readonly position: number; readonly id: string }[];
  createdAt: number;
  updatedAt: number;
  /** Events in rows after the kept ones; a row that cannot be read counts as one. */
  after: number;
  /** The highest position that anything in the store tells of. */
  known: number;
  /** What the index row says. */
  index: IndexEntry | undefined;
}

/** How many events are kept under a session's own name. */
export function ownEvents({ kept, link }: SessionSurvey): number {
  return kept - (link?.position ?? 0);
}

/** What is known of a session, from whatever row told of it first. */
export function surveyed(sessions: Map<string, SessionSurvey>, session: string): SessionSurvey {
  let survey = sessions.get(session);
  if (survey === undefined) {
    survey = {
      link: undefined,
      shared: 0,
      copied: 0,
      kept: 0,
      seals: new Map(),
      sealed: [],
      ids: [],
      createdAt: 0,
      updatedAt: 0,
      after: 0,
      known: 0,
      index: undefined,
    };
    sessions.set(session, survey);
  }
  return survey;
}
