/**
 * Pages of the list of sessions, newest first, and the questions that wait in all of them. Reads the stored summaries,
 * and opens no session.
 */

import { isDeepStrictEqual } from "node:util";
import { type EventLog, type JsonObject, TurnlogError } from "../events/index.ts";
import {
  waitingOutputs,
  type OutputRequest,
  waitingApprovals,
  type Approval,
} from "./approvals.ts";
import {
  listedSession,
  problemOf,
  stateAt,
  type ListedSession,
  listSessions,
  readSessionState,
} from "./view.ts";
import { heldBudget } from "./recovery.ts";
import type { HeldBudget } from "../machines/index.ts";

/**
 * Which sessions a list has. Without any key: all, newest first.
 * @example
 * const waiting = runtime.sessions({ where: { userId: "u-1" }, status: "awaiting-approval", limit: 20 });
 * for await (const { session } of waiting) console.log(session);
 */
export interface SessionQuery {
  /** Metadata that a session must have. Other keys of its metadata do not matter. */
  readonly where?: JsonObject;
  readonly status?: ListedSession["status"] | readonly ListedSession["status"][];
  /** The beginning of their ids. */
  readonly prefix?: string;
  /** Whether sessions without a message are listed. Default: true. */
  readonly empty?: boolean;
  /** The last row of the previous page: the list continues after it. */
  readonly after?:
    | Pick<ListedSession, "session" | "createdAt" | "updatedAt" | "lastTurnAt">
    | undefined;
  /** The most rows. Default: all. */
  readonly limit?: number;
}

/** The first key whose value differs from the requested one. */
export function differentKey(
  metadata: JsonObject = {},
  asked: JsonObject = {},
): string | undefined {
  const hasIt = (key: string): boolean =>
    Object.hasOwn(metadata, key) && isDeepStrictEqual(metadata[key], asked[key]);
  return Object.keys(asked).find((key) => !hasIt(key));
}

/** What sessions of both metadata have; undefined if no session has both. */
export function bothMetadata(one: JsonObject = {}, other: JsonObject = {}): JsonObject | undefined {
  const both = { ...one, ...other };
  return differentKey(both, one) === undefined ? both : undefined;
}

type After = NonNullable<SessionQuery["after"]>;

/** The beginning of its last turn, else its own. Never later than its last event, whatever the clock did. */
export function timeOf({ lastTurnAt, createdAt, updatedAt }: Omit<After, "session">): number {
  return Math.min(lastTurnAt ?? createdAt, updatedAt);
}

interface Ordered {
  readonly session: string;
  readonly time: number;
}

/** Newest first; sessions of one time by name. */
export function inOrder(one: Ordered, other: Ordered): number {
  if (one.time !== other.time) return other.time - one.time;
  if (one.session === other.session) return 0;
  return one.session < other.session ? -1 : 1;
}

function placeOf(row: After): Ordered {
  return { session: row.session, time: timeOf(row) };
}

/** One that cannot be read counts as one with messages. */
export function isEmpty({
  messages,
  problem,
}: Pick<ListedSession, "messages" | "problem">): boolean {
  return messages === 0 && problem === undefined;
}

/** Whether a row passes the filters of a query. */
export function isListed(
  row: ListedSession,
  where: JsonObject | undefined,
  statuses: ReadonlySet<string> | undefined,
  empty: boolean,
): boolean {
  return (
    row.problem?.code !== "SESSION_DELETED" &&
    (empty || !isEmpty(row)) &&
    (statuses === undefined || statuses.has(row.status)) &&
    differentKey(row.metadata, where) === undefined
  );
}

/**
 * The sessions of a query, newest first by the beginning of their last turn. Reads the names and times of
 * all sessions, and the summaries of as many as the page needs: a summary that was not read belongs to a
 * session whose last event is older than all that were.
 */
export async function* querySessions(
  log: EventLog,
  { where, status, prefix = "", empty = true, after, limit = Infinity }: SessionQuery,
): AsyncGenerator<SessionRow, void, void> {
  const statuses = status === undefined ? undefined : new Set([status].flat());
  const entries = await Array.fromAsync(log.list({ prefix }));
  entries.sort((one, other) => other.updatedAt - one.updatedAt);
  const found: ListedSession[] = [];
  let left = limit;
  for (const [index, entry] of entries.entries()) {
    const row = await listedSession(log, entry);
    const isNext = after === undefined || inOrder(placeOf(after), placeOf(row)) < 0;
    if (isNext && isListed(row, where, statuses, empty)) {
      const place = found.findIndex((one) => inOrder(placeOf(row), placeOf(one)) < 0);
      found.splice(place === -1 ? found.length : place, 0, row);
    }
    const nextTime = entries[index + 1]?.updatedAt ?? -Infinity;
    for (let [first] = found; first !== undefined && timeOf(first) > nextTime; [first] = found) {
      found.shift();
      yield await withQuestions(log, first);
      left -= 1;
      if (left <= 0) return;
    }
  }
}

/** A session with the approvals and outputs that its turn waits for. */
export interface SessionRow extends ListedSession {
  readonly awaitingApproval?: readonly Approval[];
  readonly awaitingOutput?: readonly OutputRequest[];
}

/** Adds what a turn waits for. Reads nothing of other sessions. */
export async function withQuestions(log: EventLog, session: ListedSession): Promise<SessionRow> {
  if (session.status !== "awaiting-approval" && session.status !== "awaiting-output")
    return session;
  try {
    const state = await stateAt(log, session.session);
    const awaitingApproval = waitingApprovals(session.session, state);
    const awaitingOutput = waitingOutputs(session.session, state);
    return {
      ...session,
      ...(awaitingApproval.length === 0 ? {} : { awaitingApproval }),
      ...(awaitingOutput.length === 0 ? {} : { awaitingOutput }),
    };
  } catch (error) {
    // A damaged session must not hide the others.
    return { ...session, problem: problemOf(error) };
  }
}

// The approvals, outputs and limits of spending that wait for people and clients in all sessions. Reads the list,
// and then only the sessions that wait.

/**
 * A question to a person whether a call may run, a call that a client runs, or a limit of spending that holds a turn.
 * @example
 * console.log((await runtime.approvals()).filter(({ kind }) => kind === "approval"));
 */
export type WaitingQuestion = {
  readonly session: string;
  /** The metadata of the session. Absent if it has none. */
  readonly metadata?: JsonObject;
  /** Epoch milliseconds of the question. */
  readonly askedAt: number;
  /** Milliseconds since the question. */
  readonly ageMs: number;
} & (
  | { readonly kind: "approval"; readonly approval: Approval }
  | { readonly kind: "output"; readonly request: OutputRequest }
  | { readonly kind: "budget"; readonly budget: HeldBudget }
);

interface InboxOptions {
  /** Metadata that a session must have. Default: all sessions. */
  readonly where?: JsonObject | undefined;
  readonly now: number;
  /** Called with the error of a session that waits and cannot be read. */
  readonly onUnreadable: (error: TurnlogError) => void;
}

/** The questions that wait, oldest first. */
export async function inbox(
  log: EventLog,
  { where, now, onUnreadable }: InboxOptions,
): Promise<readonly WaitingQuestion[]> {
  const questions: WaitingQuestion[] = [];
  for await (const row of listSessions(log)) {
    if (!mayAsk(row) || differentKey(row.metadata, where) !== undefined) continue;
    try {
      questions.push(...(await questionsOf(log, row, now)));
    } catch (error) {
      problemOf(error);
      if (TurnlogError.isInstance(error)) onUnreadable(error);
    }
  }
  return questions.toSorted((one, other) => one.askedAt - other.askedAt);
}

function mayAsk({ status, openCalls = [], problem }: ListedSession): boolean {
  if (problem !== undefined) return true;
  if (status === "awaiting-budget") return true;
  return status !== "closed" && openCalls.some((call) => call.status !== "open");
}

async function questionsOf(
  log: EventLog,
  { session, metadata }: ListedSession,
  now: number,
): Promise<readonly WaitingQuestion[]> {
  const state = await readSessionState(log, session);
  const budget = heldBudget(state);
  const about = { session, ...(metadata === undefined ? {} : { metadata }) };
  const since = (askedAt: number): Pick<WaitingQuestion, "askedAt" | "ageMs"> => ({
    askedAt,
    ageMs: Math.max(0, now - askedAt),
  });
  return [
    ...waitingApprovals(session, state).map((approval) => ({
      kind: "approval" as const,
      ...about,
      ...since(approval.askedAt),
      approval,
    })),
    ...waitingOutputs(session, state).map((request) => ({
      kind: "output" as const,
      ...about,
      ...since(request.requestedAt),
      request,
    })),
    ...(budget === undefined
      ? []
      : [{ kind: "budget" as const, ...about, ...since(budget.askedAt), budget }]),
  ];
}
