/** Holds every session of a log against the laws, and the log's own lists against each other. */

import { TurnlogError, type EventLog, type SessionEvent } from "../../events/index.ts";
import { check } from "../../validation/index.ts";
import type { Finding } from "./inspection.ts";
import {
  checkEvery,
  unreadable,
  verifySession,
  type LogProblem,
  type SessionVerification,
  type VerifyOptions,
  verifySchema,
} from "./verify-session.ts";

/** What the order over all sessions tells of one. */
interface Ordered {
  events: number;
  readonly problems: Finding[];
}

/** A problem of the whole store has no session. */
type StoreProblem = Omit<LogProblem, "session"> & { readonly session?: string };

/** What {@link verifyLog} found. */
export interface LogVerification {
  /** By name. */
  readonly sessions: readonly SessionVerification[];
  /** What is wrong with the list of sessions or the order over all of them; a position there is a global one. */
  readonly problems: readonly StoreProblem[];
}

/**
 * Verifies every session of a log ({@link verifySession}), also one that the list of sessions has
 * lost, and that all of them stand in the global order, each event once.
 * @throws TurnlogError `INVALID_INPUT`, `LOG_FAILED`, `LOG_CLOSED`
 */
export async function verifyLog(
  log: EventLog,
  options: VerifyOptions = {},
): Promise<LogVerification> {
  check(verifySchema, options, "verifyLog", { name: "options" });
  checkEvery(options);
  const problems: StoreProblem[] = [];
  const listed = await listedSessions(log, problems);
  const ordered = await orderedSessions(log, problems, await deletedEvents(log, problems));
  const isWhole = problems.length === 0;
  const sessions: SessionVerification[] = [];
  for (const session of [...new Set([...listed, ...ordered.keys()])].toSorted()) {
    const order = ordered.get(session) ?? { events: 0, problems: [] };
    const found = await verifyNamed(log, session, order, options);
    // Where a list broke off, what it did not come to is not missing.
    const missing = isWhole ? missingEvents(order, found) : [];
    const more = [...order.problems, ...missing].map((finding) => ({ session, ...finding }));
    sessions.push({ ...found, problems: [...found.problems, ...more] });
  }
  return { sessions, problems };
}

async function listedSessions(
  log: EventLog,
  problems: StoreProblem[],
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  try {
    for await (const { session } of log.list()) names.add(session);
  } catch (error) {
    problems.push(unreadable(error, 0));
  }
  return names;
}

/** How many places in the order may be empty: those of sessions that were deleted. */
async function deletedEvents(log: EventLog, problems: StoreProblem[]): Promise<number> {
  let events = 0;
  try {
    for await (const { revision } of log.deleted()) events += revision;
  } catch (error) {
    problems.push(unreadable(error, 0));
  }
  return events;
}

async function orderedSessions(
  log: EventLog,
  problems: StoreProblem[],
  deleted: number,
): Promise<ReadonlyMap<string, Ordered>> {
  const sessions = new Map<string, Ordered>();
  let next = 1;
  let empty = 0;
  try {
    for await (const { position, session, event } of log.readAll()) {
      const its = sessions.get(session) ?? { events: sharedBefore(event), problems: [] };
      sessions.set(session, its);
      empty += Math.max(0, position - next);
      if (position < next || (position > next && empty > deleted)) {
        const what = `the order over all sessions goes from global position ${next - 1} to ${position}`;
        problems.push({ position, rule: "readable", what });
      }
      if (event.position !== its.events + 1) {
        const what = `the order over all sessions has it after position ${its.events}`;
        its.problems.push({ position: event.position, rule: "readable", what });
      }
      its.events = event.position;
      next = position + 1;
    }
  } catch (error) {
    problems.push(unreadable(error, next));
  }
  return sessions;
}

/** How many events a session shares with others, by the first that is its own. */
function sharedBefore({ position, type, data }: SessionEvent): number {
  return type === "session.forked" && data.from.position === position - 1 ? position - 1 : 0;
}

/** A session may have events and be in no list, as when its index row is gone. */
async function verifyNamed(
  log: EventLog,
  session: string,
  { events }: Ordered,
  options: VerifyOptions,
): Promise<SessionVerification> {
  try {
    return await verifySession(log, session, options);
  } catch (error) {
    const code = TurnlogError.isInstance(error) ? error.code : undefined;
    if (code !== "SESSION_NOT_FOUND" && code !== "SESSION_DELETED") throw error;
    const what = `the list of sessions does not have it, and the order over all sessions has ${events} of its events`;
    const problem = { session, position: 0, rule: "readable", what } as const;
    return { session, events: 0, prompts: 0, problems: [problem] };
  }
}

/** Events may have come since the order was read; none may have gone. */
function missingEvents({ events }: Ordered, found: SessionVerification): readonly Finding[] {
  if (found.problems.length > 0 || found.events >= events) return [];
  const what = `the order over all sessions has ${events} of its events`;
  return [{ position: found.events, rule: "readable", what }];
}
