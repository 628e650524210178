/**
 * The part of a survey that looks at forks. A fork stands on events of another session: where those
 * are gone, nothing of the fork can be read, and its own events are set aside with the rest.
 */

import type { ForkPoint } from "../../../events/index.ts";
import { rowAt, type Database, firstLink, readIndex, sessionKey } from "../rows/index.ts";
import { ownEvents, type SessionSurvey } from "./session-survey.ts";

/**
 * Where a session branches off whose first row is not that of position 1. Its index row knows whether
 * it is a fork at all, as an imported one is not; without a readable one, the event is believed.
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

/** Gives up the forks whose shared events are not all kept, and the forks of those. */
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
      survey.after += ownEvents(survey);
      survey.shared = position;
      survey.kept = 0;
      survey.link = undefined;
      survey.seals.clear();
      survey.ids.length = 0;
    }
  }
}

/** The forks on the way from a session to the first one that do not stand, the oldest first. */
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
