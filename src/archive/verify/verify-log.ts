/** Verifies every session of a log, and compares the list of sessions with the global order. */

import { TurnlogError, type EventLog, type SessionEvent } from "../../events/index.ts";
import { asEncrypted } from "../../store/encryption/index.ts";
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

interface Ordered {
  events: number;
  readonly problems: Finding[];
}

/** A problem of the whole store has no session. */
type StoreProblem = Omit<LogProblem, "session"> & { readonly session?: string };

/** Result of {@link verifyLog}. */
export interface LogVerification {
  /** By name. */
  readonly sessions: readonly SessionVerification[];
  /** Problems of the list of sessions and of the global order; their positions are global. */
  readonly problems: readonly StoreProblem[];
}

export async function verifyLog(
  log: EventLog,
  options: VerifyOptions = {},
): Promise<LogVerification> {
  check(verifySchema, options, "verifyLog", { name: "options" });
  checkEvery(options);
  const problems: StoreProblem[] = [];
  const listed = await listedSessions(log, problems);
  // As they are stored: the order needs no content, and a session without its key hides no other.
  const stored = asEncrypted(log)?.stored ?? log;
  const ordered = await orderedSessions(stored, problems, await deletedEvents(log, problems));
  const isWhole = problems.length === 0;
  const sessions: SessionVerification[] = [];
  for (const session of [...new Set([...listed, ...ordered.keys()])].toSorted()) {
    const order = ordered.get(session) ?? { events: 0, problems: [] };
    const found = await verifyNamed(log, session, order, options);
    // A list that could not be read to its end says nothing about the rest.
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

/** Number of positions that the global order may lack: those of deleted sessions. */
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
      const ordered = sessions.get(session) ?? { events: sharedBefore(event), problems: [] };
      sessions.set(session, ordered);
      empty += Math.max(0, position - next);
      if (position < next || (position > next && empty > deleted)) {
        const what = `the order over all sessions goes from global position ${next - 1} to ${position}`;
        problems.push({ position, rule: "readable", what });
      }
      if (event.position !== ordered.events + 1) {
        const what = `the order over all sessions has it after position ${ordered.events}`;
        ordered.problems.push({ position: event.position, rule: "readable", what });
      }
      ordered.events = event.position;
      next = position + 1;
    }
  } catch (error) {
    problems.push(unreadable(error, next));
  }
  return sessions;
}

function sharedBefore({ position, type, data }: SessionEvent): number {
  return type === "session.forked" && data.from.position === position - 1 ? position - 1 : 0;
}

/** Verifies a session that may be missing from the list, as when its index row is lost. */
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
    const what = `the list of sessions does not have it, but the order over all sessions has ${events} of its events`;
    const problem = { session, position: 0, rule: "readable", what } as const;
    return { session, events: 0, prompts: 0, problems: [problem] };
  }
}

/** The session may have more events than the order that was read before, but not fewer. */
function missingEvents({ events }: Ordered, found: SessionVerification): readonly Finding[] {
  if (found.problems.length > 0 || found.events >= events) return [];
  const what = `the order over all sessions has ${events} of its events`;
  return [{ position: found.events, rule: "readable", what }];
}
