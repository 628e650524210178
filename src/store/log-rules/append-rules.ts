/**
 * What an append, a fork and a deletion must fulfil before they are written, and the errors if they do not. Every engine asks
 * these rules, so that logs differ in how they store and in nothing else. Pure.
 */

import {
  assertAppendable,
  type AppendOptions,
  type Codec,
  type DeleteOptions,
  idOf,
  type NewEvent,
  heldByForks,
  TurnlogError,
  type ExpectedRevision,
  type ForkEvents,
  type ForkPoint,
  forkPointSchema,
} from "../../events/index.ts";
import { encodedRows, type EventRow } from "../event-rows/index.ts";
import { deletedError } from "./log-errors.ts";

/** What the rules read of a session. */
export interface KnownSession {
  readonly session: string;
  /** The last position, 0 if the session does not exist. */
  readonly revision: number;
  readonly isDeleted: boolean;
}

export function hasIds(events: readonly NewEvent[]): boolean {
  for (const event of events) if (idOf(event) !== undefined) return true;
  return false;
}

/** @throws TurnlogError `REVISION_CONFLICT` */
export function checkRevision(
  { session, revision }: Pick<KnownSession, "session" | "revision">,
  expected: ExpectedRevision,
): void {
  if (expected === "any" || expected === revision) return;
  if (expected === "none" ? revision === 0 : expected === "exists" && revision > 0) return;
  throw new TurnlogError(
    "REVISION_CONFLICT",
    `Session ${session} is at position ${revision}, but the append expected ${expected}. Read the events since then, decide again, and append with the new position.`,
    { session, position: revision, details: { expected, actual: revision } },
  );
}

/** Checks a fork's first event as any input from outside. */
export function forkPoint(session: string, [first]: ForkEvents): ForkPoint {
  const from = forkPointSchema.safeParse(first?.data?.from);
  if (first?.type === "session.forked" && from.success) return from.data;
  throw new TurnlogError(
    "INVALID_INPUT",
    `The first event of the fork ${session} must be \`session.forked\`, with the session and the position that it branches off.`,
    { session, cause: from.error },
  );
}

/** Whether a session may branch off there. @throws TurnlogError `SESSION_DELETED`, `SESSION_NOT_FOUND`, `INVALID_INPUT` */
export function checkForkPoint(
  parent: KnownSession,
  { position }: ForkPoint,
  session: string,
): void {
  if (parent.isDeleted) throw deletedError(parent.session);
  if (parent.revision === 0) {
    throw new TurnlogError(
      "SESSION_NOT_FOUND",
      `${session} cannot be a fork of ${parent.session}: there is no such session. \`turnlog sessions\` lists the existing ones.`,
      { session: parent.session },
    );
  }
  if (position <= parent.revision) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `Session ${parent.session} has the positions 1 to ${parent.revision}; ${session} cannot be a fork of it at ${position}.`,
    { session: parent.session, position },
  );
}

/**
 * Whether a session may be deleted.
 * @param forks - The sessions that share events with it.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_HAS_FORKS`
 */
export function checkDeletion(
  { session, revision }: Pick<KnownSession, "session" | "revision">,
  forks: readonly string[],
  mode: DeleteOptions["forks"],
): void {
  if (revision === 0)
    throw new TurnlogError(
      "SESSION_NOT_FOUND",
      `Session ${session} cannot be deleted: it does not exist. \`turnlog sessions\` lists the existing ones.`,
      { session },
    );
  if (mode === "copy" || forks.length === 0) return;
  throw heldByForks(session, forks);
}

/** The ids of the events. @throws TurnlogError `EVENT_ID_CONFLICT` if one id is used twice */
export function idsOf(
  session: Pick<KnownSession, "session">,
  events: readonly NewEvent[],
): readonly string[] {
  const ids = events.flatMap((event) => idOf(event) ?? []);
  if (new Set(ids).size < ids.length)
    throw idConflict(session, "one id is used for several events", ids);
  return ids;
}

/**
 * Makes appends idempotent: the place of the last event of an earlier append of the same events; undefined if it is a
 * new one.
 * @param found - The places of those of the ids that the session or what it shares has.
 * @throws TurnlogError `EVENT_ID_CONFLICT` if the session has only some of them
 */
export function repeatedAt<Place extends { readonly position: number }>(
  session: Pick<KnownSession, "session" | "revision">,
  ids: readonly string[],
  found: ReadonlyMap<string, Place>,
): Place | undefined {
  if (found.size === 0) return undefined;
  // The events that a new fork will share cannot have created it.
  if (found.size < ids.length || session.revision === 0)
    throw idConflict(
      session,
      "some of its events are already in the session, and some are not",
      ids,
    );
  return [...found.values()].reduce((one, other) => (other.position > one.position ? other : one));
}

/**
 * The rows of an append that may be written.
 * @param base - The position that the first event follows. Default: the session's last one.
 * @throws TurnlogError as `EventLog.append`
 */
export function rowsToAppend(
  codec: Codec,
  known: KnownSession,
  expected: ExpectedRevision,
  events: readonly NewEvent[],
  {
    origin,
    base = known.revision,
  }: { readonly origin?: AppendOptions["origin"] | undefined; readonly base?: number },
): readonly EventRow[] {
  const { session, isDeleted } = known;
  if (isDeleted) throw deletedError(session);
  checkRevision(known, expected);
  if (events.length === 0) throw nothingToAppend(known);
  const checked = origin === undefined ? {} : { origin };
  for (const [index, event] of events.entries())
    assertAppendable(session, base + 1 + index, event, checked);
  return encodedRows(codec, session, base, events);
}

export function nothingToAppend({ session }: Pick<KnownSession, "session">): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `An append to ${session} has no events; append at least one.`,
    { session },
  );
}

export function idConflict(
  { session }: Pick<KnownSession, "session">,
  why: string,
  ids: readonly string[],
): TurnlogError {
  return new TurnlogError(
    "EVENT_ID_CONFLICT",
    `An append to ${session} was refused: ${why}. Append exactly the events of the first attempt, or give new ones new ids.`,
    { session, details: { ids } },
  );
}
