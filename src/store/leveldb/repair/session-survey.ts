/**
 * What repair finds out about one session, and whether a fork can be kept. A fork needs the events
 * that it shares: if they are gone, nothing of it can be read, and its own events are set aside too.
 */

import { firstLink } from "../../event-rows/index.ts";
import type { ForkPoint } from "../../../events/index.ts";
import { rowAt, type Database, readIndex, sessionKey, type IndexEntry } from "../rows/index.ts";

export interface SessionSurvey {
  link: ForkPoint | undefined;
  /** Shared positions of a fork of which nothing is kept; it did not lose them. */
  shared: number;
  /** Positions copied from a deleted session: no commit record names them. */
  copied: number;
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
  index: IndexEntry | undefined;
}

export function ownEventCount({ kept, link }: SessionSurvey): number {
  return kept - (link?.position ?? 0);
}

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

/**
 * The link of a session whose first row is not at position 1. Its index row tells whether it is a
 * fork, since imported sessions look alike; without a readable row, the event decides.
 */
export async function linkOf(
  database: Database,
  place: { readonly session: string; readonly position: number },
  row: string,
): Promise<ForkPoint | undefined> {
  const link = firstLink(row, place);
  if (link === undefined) return undefined;
  const index = await rowAt(database, sessionKey(place.session));
  const entry = index === undefined ? undefined : readIndex(place.session, index);
  return entry !== undefined && entry.link === undefined ? undefined : link;
}

/** Drops forks whose shared events are not all kept, and the forks of those. */
export function dropOrphans(
  sessions: ReadonlyMap<string, SessionSurvey>,
  findings: string[],
): void {
  const soundness = new Map<string, boolean>();
  for (const session of sessions.keys()) {
    for (const orphan of orphans(session, sessions, soundness)) {
      const survey = sessions.get(orphan);
      if (survey?.link === undefined) continue;
      const { session: parent, position } = survey.link;
      findings.push(
        `${orphan} is a fork of ${parent} at position ${position}, and ${parent} is good up to ${sessions.get(parent)?.kept ?? 0}`,
      );
      survey.after += ownEventCount(survey);
      survey.shared = position;
      survey.kept = 0;
      survey.link = undefined;
      survey.checksums.clear();
      survey.ids.length = 0;
    }
  }
}

/** The broken forks from a session up to its first intact ancestor, oldest first. */
function orphans(
  session: string,
  sessions: ReadonlyMap<string, SessionSurvey>,
  soundness: Map<string, boolean>,
): readonly string[] {
  const ancestors: string[] = [];
  const seen = new Set<string>();
  let known: boolean | undefined;
  for (let name: string | undefined = session; name !== undefined;) {
    known = soundness.get(name);
    if (known !== undefined) break;
    if (seen.has(name)) {
      known = false;
      break;
    }
    seen.add(name);
    ancestors.push(name);
    name = sessions.get(name)?.link?.session;
  }
  const broken: string[] = [];
  let isSound = known ?? true;
  for (const name of ancestors.toReversed()) {
    const link = sessions.get(name)?.link;
    if (link !== undefined) isSound &&= link.position <= (sessions.get(link.session)?.kept ?? 0);
    soundness.set(name, isSound);
    if (!isSound) broken.push(name);
  }
  return broken;
}
