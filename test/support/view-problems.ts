/** Law 2, as a user can see it: what a session shows is what a fresh fold of its log gives. */

import { isDeepStrictEqual } from "node:util";
import {
  listSessions,
  type EventLog,
  type Session,
  type SessionView,
} from "../../src/public/index.ts";
import { viewOf } from "../../src/state/index.ts";
import { replay, stateAt, storedEvents } from "./replay.ts";

export async function viewProblems(session: Session, log: EventLog): Promise<readonly string[]> {
  const shown = await session.view();
  const events = await storedEvents(log, session.id);
  const folded = viewOf(session.id, stateAt(replay(events), shown.position));
  const problems = differences(shown, folded).map(
    (part) => `the live ${part} is not the folded one`,
  );
  if (shown.position !== events.length) return problems;
  const listed = (await Array.fromAsync(listSessions(log))).find(
    (one) => one.session === session.id,
  );
  const { session: _, createdAt, updatedAt, ...summary } = listed ?? {};
  const times = { createdAt: events[0]?.time, updatedAt: events.at(-1)?.time };
  return isDeepStrictEqual(
    { ...summary, createdAt, updatedAt },
    { ...folded.summary, ...times, revision: events.length },
  )
    ? problems
    : [...problems, "the session's entry in the list is not what its log says"];
}

/** The parts of two views that are not the same, by name. */
function differences(one: SessionView, other: SessionView): readonly string[] {
  const names = Object.keys(one) as (keyof SessionView)[];
  return names.filter((name) => !isDeepStrictEqual(one[name], other[name]));
}
