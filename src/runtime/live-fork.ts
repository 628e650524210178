/** Forks a session of a running runtime: by whom it is run, where it branches off, what is said instead. */

import {
  parseSessionId,
  TurnlogError,
  type EventLog,
  type RecoveryPolicy,
} from "../events/index.ts";
import { beforeLastMessage, type BranchPoint } from "../projections/index.ts";
import { changedCrew, type Crews } from "./crews.ts";
import { forkSession } from "./fork-session.ts";
import { stateAt } from "./session-view.ts";
import type { ForkOptions, Session } from "./session.ts";
import { toStoredContent } from "./user-input.ts";

/** What the runtime lends for it. */
export interface ForkHost {
  readonly log: EventLog;
  readonly crews: Crews;
  readonly newId: () => string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Wakes the new session up; what becomes of a turn that ran where it branches off is the runtime's usual, or this. */
  readonly open: (session: string, recovery?: RecoveryPolicy) => Promise<Session>;
}

/** @throws TurnlogError as `Session.fork` */
export async function forkLive(
  session: string,
  options: ForkOptions,
  { log, crews, newId, clock, open }: ForkHost,
  recovery?: RecoveryPolicy,
): Promise<Session> {
  const { id = newId(), at, edit } = options;
  const as = parseSessionId(id);
  if (edit !== undefined) toStoredContent(as, edit);
  const before = crews.of(session);
  const crew = await changedCrew(before, options);
  const point = edit === undefined ? undefined : await editPoint(log, session, at);
  const position = point?.position ?? at;
  await forkSession(log, session, {
    as,
    ...(position === undefined ? {} : { at: position }),
    ...(crew === before ? {} : { agent: crew.prepared.description }),
    withdraw: point?.waiting ?? [],
    now: clock(),
  });
  crews.set(as, crew);
  const fork = await open(as, recovery);
  if (edit !== undefined) await fork.send(edit);
  return fork;
}

/** Where to fork to replace the last message that was delivered up to a position. */
async function editPoint(log: EventLog, session: string, at?: number): Promise<BranchPoint> {
  const state = await stateAt(log, session, at);
  const point = beforeLastMessage(state);
  if (point !== undefined) return point;
  throw new TurnlogError(
    "INVALID_INPUT",
    `Up to position ${state.position} session ${session} has no delivered message that could be edited. Send one.`,
    { session, position: state.position },
  );
}
