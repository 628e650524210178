/** Law 2, as a user can see it: what a session shows is what a fresh fold of its log gives. */

import { isDeepStrictEqual } from "node:util";
import { listSessions, viewOf } from "../../src/state/index.ts";
import type { EventLog, Session, SessionView } from "../../src/public/index.ts";
import { replay, stateAt, storedEvents } from "./replay.ts";

export async function viewProblems(session: Session, log: EventLog): Promise<readonly string[]> {
  const shown = await session.view();
  const row = (await Array.fromAsync(listSessions(log))).find(
    ({ session: id }) => id === session.id,
  );
  // Read last and folded once: it has the positions of both.
  const replayed = replay(await storedEvents(log, session.id));
  const folded = viewOf(session.id, stateAt(replayed, shown.position));
  const problems = differences(shown, folded).map(
    (part) => `the live ${part} is not the folded one`,
  );
  if (row === undefined) return [...problems, "the session is not in the list"];
  // The row is of its own position: a message whose time comes meanwhile begins a turn.
  const { session: _, revision, createdAt, updatedAt, ...summary } = row;
  const times = [replayed.events[0]?.time, replayed.events[revision - 1]?.time];
  const isRight =
    isDeepStrictEqual(summary, viewOf(session.id, stateAt(replayed, revision)).summary) &&
    isDeepStrictEqual([createdAt, updatedAt], times);
  return isRight
    ? problems
    : [...problems, "the session's entry in the list is not what its log says"];
}

/** The parts of two views that are not the same, by name. */
function differences(one: SessionView, other: SessionView): readonly string[] {
  const names = Object.keys(one) as (keyof SessionView)[];
  return names.filter((name) => !isDeepStrictEqual(one[name], other[name]));
}
