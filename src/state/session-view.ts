/** A session as it stood at a position, for people and programs that look at it. */

import type { ModelMessage } from "ai";
import {
  deepFreeze,
  readableEvents,
  TurnlogError,
  type EventLog,
  type SessionEntry,
  type TurnlogErrorCode,
} from "../events/index.ts";
import type { MachineState } from "../machines/index.ts";
import {
  promptMessages,
  sessionSummary,
  type HistoryItem,
  type QueuedMessage,
  type SessionSummary,
  type ToolCall,
  type UsageState,
} from "../projections/index.ts";
import { sessionApprovals, type Approval } from "./session-approvals.ts";
import { loadSessionSnapshot } from "./session-snapshot.ts";
import { foldSession, type SessionState } from "./session-state.ts";

/** A session at a position: its state, what was said and done, and what a step would send. */
export interface SessionView {
  readonly session: string;
  readonly position: number;
  readonly state: MachineState;
  /** Everything, nothing left out. */
  readonly history: readonly HistoryItem[];
  /** The messages that a step would send here. */
  readonly prompt: readonly ModelMessage[];
  readonly usage: UsageState;
  readonly toolCalls: readonly ToolCall[];
  /** Every question whether a call may run, oldest first, with its answer. */
  readonly approvals: readonly Approval[];
  readonly queue: readonly QueuedMessage[];
  readonly summary: SessionSummary;
}

/** Frozen with the parts of the state that it shares, each once: a view never changes, nor does the session by it. */
export function viewOf(session: string, state: SessionState): SessionView {
  const { position, machine, history, view, usage, toolCalls, queue, summary } = state;
  return deepFreeze({
    session,
    position,
    state: { value: machine.value, context: machine.context },
    history: history.open === undefined ? history.items : [...history.items, history.open],
    prompt: promptMessages(history, view),
    usage,
    toolCalls: [...toolCalls.ended, ...toolCalls.open],
    approvals: sessionApprovals(session, state),
    queue: queue.waiting,
    summary,
  });
}

/** The state at a position (default: the last), from a snapshot where one lies before it. */
export async function readSessionState(
  log: EventLog,
  session: string,
  at?: number,
): Promise<SessionState> {
  const { state } = await loadSessionSnapshot(log, session, at);
  return await foldOnwards(log, session, state, at);
}

/** The state after the events that follow it in the log, up to a position (default: the last). */
export async function foldOnwards(
  log: EventLog,
  session: string,
  from: SessionState,
  at?: number,
): Promise<SessionState> {
  let state = from;
  const range = at === undefined ? {} : { to: at };
  for await (const event of log.read(session, { from: state.position + 1, ...range })) {
    state = foldSession(state, event).state;
  }
  return state;
}

/** As `readSessionState`, for a position that somebody names. Throws as {@link checkPosition}. */
export async function stateAt(log: EventLog, session: string, at?: number): Promise<SessionState> {
  await checkPosition(log, session, at);
  return await readSessionState(log, session, at);
}

/**
 * A session as it stood at a position, read from a log. Runs nothing and writes nothing.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_DELETED`, `INVALID_INPUT` for a position that there is not.
 */
export async function viewSession(
  log: EventLog,
  session: string,
  at?: number,
): Promise<SessionView> {
  return viewOf(session, await stateAt(log, session, at));
}

/** @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_DELETED`, `INVALID_INPUT` for a position that there is not. */
export async function checkPosition(log: EventLog, session: string, at?: number): Promise<void> {
  const last = await log.revision(session);
  if (last === 0) throw await absent(log, session);
  if (at !== undefined && !(Number.isInteger(at) && at >= 1 && at <= last)) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `Session ${session} has the positions 1 to ${last}; ${at} is not one of them.`,
      { session, position: at },
    );
  }
}

/** A session that was deleted is not one that nobody ever had. */
async function absent(log: EventLog, session: string): Promise<TurnlogError> {
  for await (const deleted of log.deleted()) {
    if (deleted.session !== session) continue;
    return new TurnlogError("SESSION_DELETED", `Session ${session} was deleted for good.`, {
      session,
    });
  }
  return new TurnlogError(
    "SESSION_NOT_FOUND",
    `There is no session ${session} in this store. \`turnlog sessions\` lists those that there are.`,
    { session },
  );
}

/** A session as {@link listSessions} tells it. */
export interface ListedSession extends SessionSummary {
  readonly session: string;
  /** The last position. */
  readonly revision: number;
  /** Epoch milliseconds of the first and of the last event. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Why not all of it could be read: the summary says what the rest does. Absent where all could. */
  readonly problem?: SessionProblem;
}

/** Why a session, or a part of it, cannot be read. */
export interface SessionProblem {
  readonly code: TurnlogErrorCode;
  readonly message: string;
  /** The position concerned, where there is one. */
  readonly position?: number;
}

/** The summary of a session at its last position. Reads what came after the one that is stored. */
export async function readSummary(
  log: EventLog,
  session: string,
  revision: number,
  leftOut: (error: TurnlogError) => void = () => {},
): Promise<SessionSummary> {
  const snapshot = await log.loadSnapshot(session, sessionSummary.name);
  const stored =
    snapshot?.version === sessionSummary.version && snapshot.position <= revision
      ? sessionSummary.schema.safeParse(snapshot.state)
      : undefined;
  const from = stored?.success === true && snapshot !== undefined ? snapshot.position + 1 : 1;
  let summary = stored?.success === true ? stored.data : sessionSummary.initial;
  if (from > revision) return summary;
  // One session's defect is not to hide the list of all.
  for await (const event of readableEvents(log, session, { from, to: revision }, leftOut)) {
    summary = sessionSummary.fold(summary, event);
  }
  return summary;
}

/** Of the whole store, or of nobody any more: a row of a list cannot say it. */
const ofTheStore: ReadonlySet<TurnlogErrorCode> = new Set<TurnlogErrorCode>([
  "LOG_CLOSED",
  "LOG_FAILED",
  "RUNTIME_CLOSED",
]);

/** The problem of one session; any error that is not one session's own is thrown on. */
export function problemOf(error: unknown): SessionProblem {
  if (!TurnlogError.isInstance(error) || ofTheStore.has(error.code)) throw error;
  const { code, message, position } = error;
  return { code, message, ...(position === undefined ? {} : { position }) };
}

async function readRow(log: EventLog, entry: SessionEntry): Promise<ListedSession> {
  let problem: SessionProblem | undefined;
  let summary = sessionSummary.initial;
  try {
    summary = await readSummary(log, entry.session, entry.revision, (error) => {
      problem ??= problemOf(error);
    });
  } catch (error) {
    problem = problemOf(error);
  }
  return { ...entry, ...summary, ...(problem === undefined ? {} : { problem }) };
}

/**
 * All sessions of a log by name. Reads of each only what came after its last stored summary. A session
 * that cannot be read is a row with its `problem`.
 */
export async function* listSessions(log: EventLog): AsyncGenerator<ListedSession> {
  for await (const entry of log.list()) {
    const row = await readRow(log, entry);
    // It was deleted since its name was read.
    if (row.problem?.code !== "SESSION_DELETED") yield row;
  }
}
