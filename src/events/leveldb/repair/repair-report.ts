/** What a repair tells its caller. */

import { ownEvents } from "./session-survey.ts";
import type { Survey } from "./survey.ts";

/** A session that lost something. */
export interface RepairedSession {
  readonly session: string;
  /** Its last position now; 0 when nothing of it is left. */
  readonly kept: number;
  /** The first position that it lost. */
  readonly lostFrom: number;
  /** Rows after the kept ones that were set aside, good and bad. */
  readonly quarantined: number;
  /** Positions of which nothing was found. */
  readonly missing: number;
}

/** What {@link repairLog} found and did. */
export interface RepairReport {
  readonly dir: string;
  /** False when nothing was wrong: then nothing was changed. */
  readonly changed: boolean;
  /** What was wrong, a sentence each. */
  readonly findings: readonly string[];
  /** Only the sessions that lost something. */
  readonly lost: readonly RepairedSession[];
  /** All sessions and events that the store holds now. */
  readonly sessions: number;
  readonly events: number;
  /** All rows that were set aside, also those whose keys no longer tell whose they were. */
  readonly quarantined: number;
  /** Positions of which nothing was found, over all sessions. */
  readonly missing: number;
  /** The folder in which the damaged files are kept. Delete it when you no longer need it. */
  readonly damagedFiles?: string;
}

export function reportOf(
  dir: string,
  { sessions, strays }: Survey,
  findings: readonly string[],
  damagedFiles: string | undefined,
): RepairReport {
  const lost = [...sessions]
    .filter(([, { kept, known }]) => known > kept)
    .map(([session, { shared, kept, known, after }]) => ({
      session,
      kept,
      lostFrom: shared + kept + 1,
      quarantined: after,
      missing: Math.max(0, known - shared - kept - after),
    }));
  const left = [...sessions.values()].filter(({ kept }) => kept > 0);
  return {
    dir,
    changed: damagedFiles !== undefined,
    findings,
    lost,
    sessions: left.length,
    events: left.reduce((sum, survey) => sum + ownEvents(survey), 0),
    quarantined: [...sessions.values()].reduce((sum, { after }) => sum + after, strays.length),
    missing: lost.reduce((sum, { missing }) => sum + missing, 0),
    ...(damagedFiles === undefined ? {} : { damagedFiles }),
  };
}
