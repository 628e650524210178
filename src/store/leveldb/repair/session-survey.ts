/** What repair finds out about one session. */

import type { ForkPoint } from "../../../events/index.ts";
import type { IndexEntry } from "../rows/index.ts";

export interface SessionSurvey {
  /** Where a fork branches off. */
  link: ForkPoint | undefined;
  /** Shared positions of a fork of which nothing is kept; it did not lose them. */
  shared: number;
  /** Positions copied from a deleted session: no commit record names them. */
  copied: number;
  /** The last good position. */
  kept: number;
  /** Checksums of the kept rows, by their last positions. */
  readonly checksums: Map<number, string>;
  /** The positions of kept merged rows, both ends included, in order. */
  readonly merged: { readonly from: number; readonly to: number }[];
  readonly ids: { readonly position: number; readonly id: string }[];
  createdAt: number;
  updatedAt: number;
  /** Events behind the kept ones; an unreadable row counts as one. */
  after: number;
  /** The highest position of which there is any trace. */
  known: number;
  /** The content of the index row. */
  index: IndexEntry | undefined;
}

/** The number of kept events that the session owns. */
export function ownEventCount({ kept, link }: SessionSurvey): number {
  return kept - (link?.position ?? 0);
}

/** The survey of a session, created at its first row. */
export function surveyOf(sessions: Map<string, SessionSurvey>, session: string): SessionSurvey {
  let survey = sessions.get(session);
  if (survey === undefined) {
    survey = {
      link: undefined,
      shared: 0,
      copied: 0,
      kept: 0,
      checksums: new Map(),
      merged: [],
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
