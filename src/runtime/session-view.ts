/** A session as it stood at a position, for people and programs that look at it. */

import type { ModelMessage } from "ai";
import { TurnlogError, type EventLog } from "../events/index.ts";
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
  readonly queue: readonly QueuedMessage[];
  readonly summary: SessionSummary;
}

export function viewOf(session: string, state: SessionState): SessionView {
  const { position, machine, history, view, usage, toolCalls, queue, summary } = state;
  return {
    session,
    position,
    state: { value: machine.value, context: machine.context },
    history: history.open === undefined ? history.items : [...history.items, history.open],
    prompt: promptMessages(history, view),
    usage,
    toolCalls: [...toolCalls.ended, ...toolCalls.open],
    queue: queue.waiting,
    summary,
  };
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
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` for a position that there is not.
 */
export async function viewSession(
  log: EventLog,
  session: string,
  at?: number,
): Promise<SessionView> {
  return viewOf(session, await stateAt(log, session, at));
}

/** @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` for a position that there is not. */
export async function checkPosition(log: EventLog, session: string, at?: number): Promise<void> {
  const last = await log.revision(session);
  if (last === 0) {
    throw new TurnlogError(
      "SESSION_NOT_FOUND",
      `There is no session ${session} in this store. \`turnlog sessions\` lists those that there are.`,
      { session },
    );
  }
  if (at !== undefined && !(Number.isInteger(at) && at >= 1 && at <= last)) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `Session ${session} has the positions 1 to ${last}; ${at} is not one of them.`,
      { session, position: at },
    );
  }
}

/** A session as {@link listSessions} tells it. */
export interface ListedSession extends SessionSummary {
  readonly session: string;
  /** The last position. */
  readonly revision: number;
  /** Epoch milliseconds of the first and of the last event. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The summary of a session at its last position. Reads what came after the one that is stored. */
export async function readSummary(
  log: EventLog,
  session: string,
  revision: number,
): Promise<SessionSummary> {
  const snapshot = await log.loadSnapshot(session, sessionSummary.name);
  const stored =
    snapshot?.version === sessionSummary.version && snapshot.position <= revision
      ? sessionSummary.schema.safeParse(snapshot.state)
      : undefined;
  const from = stored?.success === true && snapshot !== undefined ? snapshot.position + 1 : 1;
  let summary = stored?.success === true ? stored.data : sessionSummary.initial;
  if (from > revision) return summary;
  for await (const event of log.read(session, { from, to: revision })) {
    summary = sessionSummary.fold(summary, event);
  }
  return summary;
}

/** All sessions of a log by name. Reads of each only what came after its last stored summary. */
export async function* listSessions(log: EventLog): AsyncGenerator<ListedSession> {
  for await (const entry of log.list()) {
    const summary = await readSummary(log, entry.session, entry.revision);
    yield { ...entry, ...summary };
  }
}
