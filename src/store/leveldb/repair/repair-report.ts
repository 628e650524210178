/** The report of a repair. */

import type { StoreCopy } from "../copy/store-copy.ts";
import type { CheckedBlobs, LostBlob } from "./blob-check.ts";

interface RepairedSession {
  readonly session: string;
  /** Its last position now; 0 if nothing of it is left. */
  readonly kept: number;
  /** The first position that it lost. */
  readonly lostFrom: number;
  /** Rows behind the kept ones, good or bad: only the damaged files have them. */
  readonly quarantined: number;
  /** Positions of which nothing was found. */
  readonly missing: number;
}

export interface RepairReport {
  readonly dir: string;
  /** False if nothing was changed: the log was intact, and no blob was altered. */
  readonly changed: boolean;
  /** What was wrong, one sentence each. */
  readonly findings: readonly string[];
  /** Only the sessions that lost something. */
  readonly lost: readonly RepairedSession[];
  readonly sessions: number;
  readonly events: number;
  /** All rows that only the damaged files have, including those with unreadable keys. */
  readonly quarantined: number;
  /** Positions of which nothing was found, over all sessions. */
  readonly missing: number;
  /** The least number of lost events whose session is unknown. */
  readonly unaccounted: number;
  /** How many blobs that events refer to exist, each once. */
  readonly blobs: number;
  /** The other blobs, each with the first event that refers to it. */
  readonly lostBlobs: readonly LostBlob[];
  /** The folder with the damaged files. Delete it when you no longer need it. */
  readonly damagedFiles?: string;
}

export interface Findings {
  readonly copy: StoreCopy;
  readonly blobs: CheckedBlobs;
  readonly findings: readonly string[];
  /** The global position that the log had certainly reached. */
  readonly reached: number;
}

export function reportOf(
  dir: string,
  { copy, blobs, findings, reached }: Findings,
  damagedFiles: string | undefined,
): RepairReport {
  const { sessions, strays, events } = copy;
  const lost = [...sessions]
    .filter(([, { kept, known }]) => known > kept)
    .map(([session, { shared, kept, known, after }]) => ({
      session,
      kept,
      lostFrom: shared + kept + 1,
      quarantined: after,
      missing: Math.max(0, known - shared - kept - after),
    }));
  return {
    dir,
    changed:
      damagedFiles !== undefined || blobs.lost.some(({ setAside }) => setAside !== undefined),
    findings,
    lost,
    sessions: [...sessions.values()].filter(({ kept }) => kept > 0).length,
    events,
    quarantined: [...sessions.values()].reduce((sum, { after }) => sum + after, strays),
    missing: lost.reduce((sum, { missing }) => sum + missing, 0),
    unaccounted: Math.max(0, reached - accounted(copy)),
    blobs: blobs.blobs,
    lostBlobs: blobs.lost,
    ...(damagedFiles === undefined ? {} : { damagedFiles }),
  };
}

/** Events with any trace left; counts rather too many than too few. */
function accounted({ sessions, deleted, strays }: StoreCopy): number {
  const ofSessions = [...sessions.values()].map(
    ({ kept, known, after, shared, link }) =>
      Math.max(known, kept + after) - (link?.position ?? shared),
  );
  return [...deleted.values(), ...ofSessions].reduce((sum, events) => sum + events, strays);
}
