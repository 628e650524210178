/** Sessions as a tree: a fork comes below its origin. Pure. */

import type { ListedSession } from "../data/types.ts";

export interface TreeRow {
  readonly session: ListedSession;
  readonly depth: number;
}

/** The order of the list stays; forks whose origin is not listed stand on their own. */
export function sessionTree(sessions: readonly ListedSession[]): readonly TreeRow[] {
  const ids = new Set(sessions.map(({ session }) => session));
  const originOf = ({ forkedFrom, session }: ListedSession): string =>
    forkedFrom !== undefined && forkedFrom.session !== session && ids.has(forkedFrom.session)
      ? forkedFrom.session
      : "";
  const forks = Map.groupBy(sessions, originOf);
  const below = (origin: string, depth: number): readonly TreeRow[] =>
    (forks.get(origin) ?? []).flatMap((session) => [
      { session, depth },
      ...below(session.session, depth + 1),
    ]);
  return below("", 0);
}
