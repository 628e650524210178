/**
 * The part of a survey about forks. A fork needs the events that it shares: if they are gone,
 * nothing of it can be read, and its own events are set aside too.
 */

import type { ForkPoint } from "../../../events/index.ts";
import { rowAt, type Database, firstLink, readIndex, sessionKey } from "../rows/index.ts";
import { ownEventCount, type SessionSurvey } from "./session-survey.ts";

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
  const standing = new Map<string, boolean>();
  for (const session of sessions.keys()) {
    for (const orphan of orphans(session, sessions, standing)) {
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
  standing: Map<string, boolean>,
): readonly string[] {
  const way: string[] = [];
  const seen = new Set<string>();
  let known: boolean | undefined;
  for (let name: string | undefined = session; name !== undefined;) {
    known = standing.get(name);
    if (known !== undefined) break;
    if (seen.has(name)) {
      known = false;
      break;
    }
    seen.add(name);
    way.push(name);
    name = sessions.get(name)?.link?.session;
  }
  const fallen: string[] = [];
  let stands = known ?? true;
  for (const name of way.toReversed()) {
    const link = sessions.get(name)?.link;
    if (link !== undefined) stands &&= link.position <= (sessions.get(link.session)?.kept ?? 0);
    standing.set(name, stands);
    if (!stands) fallen.push(name);
  }
  return fallen;
}
