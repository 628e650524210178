/** What a repair tells its caller. */

import { readTombstone } from "../rows/index.ts";
import type { BlobSurvey, LostBlob } from "./blob-survey.ts";
import { ownEvents } from "./session-survey.ts";
import type { Survey } from "./survey.ts";

/** A session that lost something. */
interface RepairedSession {
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
  /** False when nothing was changed: the log was sound, and no blob was altered. */
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
  /** Events at least that the log had, of which nothing is left to tell whose they were. */
  readonly unaccounted: number;
  /** How many blobs the events refer to that are there, each once. */
  readonly blobs: number;
  /** Those of them whose bytes are gone, with the first event that brought them. */
  readonly lostBlobs: readonly LostBlob[];
  /** The folder in which the damaged files are kept. Delete it when you no longer need it. */
  readonly damagedFiles?: string;
}

export interface Findings {
  readonly survey: Survey;
  readonly blobs: BlobSurvey;
  readonly findings: readonly string[];
  /** The global position that the log is known to have reached. */
  readonly reached: number;
}

export function reportOf(
  dir: string,
  { survey, blobs, findings, reached }: Findings,
  damagedFiles: string | undefined,
): RepairReport {
  const { sessions, strays } = survey;
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
    changed:
      damagedFiles !== undefined || blobs.lost.some(({ setAside }) => setAside !== undefined),
    findings,
    lost,
    sessions: left.length,
    events: left.reduce((sum, one) => sum + ownEvents(one), 0),
    quarantined: [...sessions.values()].reduce((sum, { after }) => sum + after, strays.length),
    missing: lost.reduce((sum, { missing }) => sum + missing, 0),
    unaccounted: Math.max(0, reached - accounted(survey)),
    blobs: blobs.blobs,
    lostBlobs: blobs.lost,
    ...(damagedFiles === undefined ? {} : { damagedFiles }),
  };
}

/** Events that anything tells of, rather too many than too few. */
function accounted({ sessions, deleted, strays }: Survey): number {
  const ofDeleted = [...deleted].map(([session, row]) => readTombstone(session, row) ?? 0);
  const ofSessions = [...sessions.values()].map(
    ({ kept, known, after, shared, link }) =>
      Math.max(known, kept + after) - (link?.position ?? shared),
  );
  return [...ofDeleted, ...ofSessions].reduce((sum, events) => sum + events, strays.length);
}
