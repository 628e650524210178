/** What repair finds out about one session. */

export interface SessionSurvey {
  /** The last good position. */
  kept: number;
  /** Checksums of the kept rows, in order. */
  readonly seals: string[];
  readonly ids: { readonly seq: number; readonly id: string }[];
  createdAt: number;
  updatedAt: number;
  /** Rows of this session after the kept ones, good and bad. */
  after: number;
  /** The highest position that anything in the store tells of. */
  known: number;
  /** What the index row says; 0 without one. */
  indexed: number;
}

/** What is known of a session, from whatever row told of it first. */
export function surveyed(sessions: Map<string, SessionSurvey>, session: string): SessionSurvey {
  let survey = sessions.get(session);
  if (survey === undefined) {
    survey = {
      kept: 0,
      seals: [],
      ids: [],
      createdAt: 0,
      updatedAt: 0,
      after: 0,
      known: 0,
      indexed: 0,
    };
    sessions.set(session, survey);
  }
  return survey;
}
