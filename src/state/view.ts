/** Read-only views: a session at a position, and the list of all sessions. Runs and writes nothing. */

import {
  deepFreeze,
  defined,
  readableEvents,
  TurnlogError,
  type EventLog,
  type SessionEntry,
  type Snapshot,
  type TurnlogErrorCode,
  type JsonValue,
} from "../events/index.ts";
import type { HeldBudget, MachineState } from "../machines/index.ts";
import { toJson } from "../shared/index.ts";
import {
  allWaiting,
  sentPrompt,
  sessionSummary,
  type HistoryItem,
  type QueuedMessage,
  type SentPrompt,
  type SessionSummary,
  type UsageState,
  type CallApproval,
  type CallPart,
  type HistoryState,
  type StepItem,
  type ToolCall,
  promptDiff,
  type PromptDiff,
} from "../projections/index.ts";
import { heldBudget, isAtRest, isInTurn } from "./recovery.ts";
import {
  outputRequests,
  type OutputRequest,
  sessionApprovals,
  type Approval,
} from "./approvals.ts";
import { loadSessionSnapshot, EVENTS_PER_SNAPSHOT } from "./snapshot.ts";
import { foldSession, type SessionState } from "./session-state.ts";

/** A session at a position: its state, its history, and the prompt that a step would send. @example const { history, queue }: SessionView = await session.view(); */
export interface SessionView {
  readonly session: string;
  readonly position: number;
  readonly state: MachineState;
  /** The whole history, including what the prompt leaves out. */
  readonly history: readonly HistoryItem[];
  /** What a step would send here. A step sent the prompt of the position before its `step.started`. */
  readonly prompt: SentPrompt;
  readonly usage: UsageState;
  readonly toolCalls: readonly DescribedCall[];
  /** Every question whether a call may run, oldest first, with its answer. */
  readonly approvals: readonly Approval[];
  /** Every call that a client runs, oldest first. */
  readonly outputRequests: readonly OutputRequest[];
  /** The limit of spending that holds the turn. Absent if none does. */
  readonly budget?: HeldBudget;
  /** The messages that wait: those that may be delivered now in their order, then those for later. */
  readonly queue: readonly QueuedMessage[];
  readonly summary: SessionSummary;
}

/** The newest view of each state: all followers of a session ask for it when a turn comes to rest. */
const made = new WeakMap<SessionState, SessionView>();

/** The view of a state. Frozen, since it shares parts of the state. */
export function viewOf(session: string, state: SessionState): SessionView {
  const known = made.get(state);
  if (known?.session === session) return known;
  const view = newView(session, state);
  made.set(state, view);
  return view;
}

function newView(session: string, state: SessionState): SessionView {
  const { history, usage, toolCalls } = state;
  const view = deepFreeze({
    ...outlineOf(session, state),
    history: history.open === undefined ? history.items : [...history.items, history.open],
    usage,
    toolCalls: describedCalls([...toolCalls.ended, ...toolCalls.open], history),
  });
  let prompt: SentPrompt | undefined;
  // Made when it is read: it is as long as the history, and most who view a session do not read it.
  return Object.freeze({
    ...view,
    get prompt() {
      return (prompt ??= deepFreeze(sentPrompt(state)));
    },
  });
}

/** A view without what grows with the session: history, prompt, the usage of each step, calls that ended. */
interface SessionOutline extends Omit<SessionView, "history" | "prompt" | "usage"> {
  /** The calls that run or wait. */
  readonly toolCalls: readonly DescribedCall[];
  readonly usage: Pick<UsageState, "total" | "inherited">;
}

/** Shares parts of the state. */
export function outlineOf(session: string, state: SessionState): SessionOutline {
  const { position, machine, history, usage, toolCalls, queue, summary } = state;
  const { total, inherited } = usage;
  return {
    session,
    position,
    state: { value: machine.value, context: machine.context },
    usage: inherited === undefined ? { total } : { total, inherited },
    toolCalls: describedCalls(toolCalls.open, history),
    approvals: sessionApprovals(session, state),
    outputRequests: outputRequests(session, state),
    ...defined({ budget: heldBudget(state) }),
    queue: allWaiting(queue),
    summary,
  };
}

/** The state at a position (default: the last), folded from the nearest snapshot. */
export async function readSessionState(
  log: EventLog,
  session: string,
  position?: number,
): Promise<SessionState> {
  const { state } = await loadSessionSnapshot(log, session, position);
  return await foldOnwards(log, session, state, position);
}

/** Folds the events after a state, up to a position (default: the last). */
async function foldOnwards(
  log: EventLog,
  session: string,
  from: SessionState,
  position?: number,
): Promise<SessionState> {
  let state = from;
  const range = position === undefined ? {} : { to: position };
  for await (const event of log.read(session, { from: state.position + 1, ...range })) {
    state = foldSession(state, event).state;
  }
  return state;
}

/** As `readSessionState`, for a position of a user. Throws as {@link checkPosition}. */
export async function stateAt(
  log: EventLog,
  session: string,
  position?: number,
): Promise<SessionState> {
  await checkPosition(log, session, position);
  return await readSessionState(log, session, position);
}

export async function viewSession(
  log: EventLog,
  session: string,
  position?: number,
): Promise<SessionView> {
  return viewOf(session, await stateAt(log, session, position));
}

/** @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_DELETED`, `INVALID_INPUT` if the position does not exist */
export async function checkPosition(
  log: EventLog,
  session: string,
  position?: number,
): Promise<void> {
  const last = await log.revision(session);
  if (last === 0) throw await missingSession(log, session);
  if (
    position !== undefined &&
    !(Number.isInteger(position) && position >= 1 && position <= last)
  ) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `Session ${session} has the positions 1 to ${last}; ${position} is not one of them.`,
      { session, position },
    );
  }
}

/** The error of a missing session: it was deleted, or never existed. */
export async function missingSession(log: EventLog, session: string): Promise<TurnlogError> {
  for await (const deleted of log.deleted()) {
    if (deleted.session !== session) continue;
    return new TurnlogError("SESSION_DELETED", `Session ${session} was deleted permanently.`, {
      session,
    });
  }
  return absentSession(session);
}

/** The error of a session that never existed, and of one that a client of a server may not know of. */
export function absentSession(session: string): TurnlogError {
  return new TurnlogError(
    "SESSION_NOT_FOUND",
    `There is no session ${session} in this store. \`turnlog sessions\` lists the existing ones.`,
    { session },
  );
}

/** False if the turn is unfinished for another reason, or the session cannot be read. */
export async function waitsForAnswer(log: EventLog, session: string): Promise<boolean> {
  try {
    if ((await log.revision(session)) === 0) return false;
    const state = await readSessionState(log, session);
    return isInTurn(state.machine) && isAtRest(state);
  } catch (error) {
    if (TurnlogError.isInstance(error)) return false;
    throw error;
  }
}

/** A row of a list of sessions. @example for await (const row of runtime.sessions()) console.log(row.session, row.status); */
export interface ListedSession extends SessionSummary {
  readonly session: string;
  /** The last position. */
  readonly revision: number;
  /** Epoch milliseconds of the first and of the last event. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Why a part could not be read; the summary is that of the rest. Absent if all could be read. */
  readonly problem?: SessionProblem;
}

/** Why a session or a part of it cannot be read. */
interface SessionProblem {
  readonly code: TurnlogErrorCode;
  readonly message: string;
  readonly position?: number;
}

/** Stores a summary in place of one that an earlier release stored. Never rejects. */
export type KeepSummary = (session: string, snapshot: Snapshot) => Promise<void>;

/**
 * The summary of a session at its last position. Reads the events after the stored summary; all of them if
 * that is of another version, and gives `keep` what it found.
 */
export async function readSummary(
  log: EventLog,
  session: string,
  revision: number,
  leftOut: (error: TurnlogError) => void = () => {},
  known?: Snapshot,
  keep?: KeepSummary,
): Promise<SessionSummary> {
  const isCurrent = known !== undefined && known.position <= revision;
  const snapshot = isCurrent ? known : await log.loadSnapshot(session, sessionSummary.name);
  const stored =
    snapshot?.version === sessionSummary.version && snapshot.position <= revision
      ? sessionSummary.schema.safeParse(snapshot.state)
      : undefined;
  const from = stored?.success === true && snapshot !== undefined ? snapshot.position + 1 : 1;
  let summary = stored?.success === true ? stored.data : sessionSummary.initial;
  if (from > revision) return summary;
  let isWhole = true;
  // A damaged session must not hide the list.
  const range = { from, to: revision };
  const skip = (error: TurnlogError): void => {
    isWhole = false;
    leftOut(error);
  };
  for await (const event of readableEvents(log, session, range, skip)) {
    summary = sessionSummary.fold(summary, event);
  }
  const isStale = snapshot !== undefined && stored?.success !== true;
  if (isStale && isWhole && keep !== undefined) {
    const { name: projection, version } = sessionSummary;
    await keep(session, { projection, version, position: revision, state: toJson(summary) });
  }
  return summary;
}

/** Errors of the whole store, not of one session. */
const storeErrors: ReadonlySet<TurnlogErrorCode> = new Set<TurnlogErrorCode>([
  "LOG_CLOSED",
  "LOG_FAILED",
  "RUNTIME_CLOSED",
]);

/** The problem of one session. Rethrows errors of the whole store: the system's name the session if they are of one. */
export function problemOf(error: unknown): SessionProblem {
  if (!TurnlogError.isInstance(error)) throw error;
  const { code, message, position, session } = error;
  const isOfSession = code === "LOG_FAILED" && session !== undefined;
  if (storeErrors.has(code) && !isOfSession) throw error;
  return { code, message, ...(position === undefined ? {} : { position }) };
}

/** The row of one session. `known`: its stored summary, if that was read before. `keep`: as {@link readSummary}. */
export async function listedSession(
  log: EventLog,
  entry: SessionEntry,
  known?: Snapshot,
  keep?: KeepSummary,
): Promise<ListedSession> {
  let problem: SessionProblem | undefined;
  let summary = sessionSummary.initial;
  try {
    const leftOut = (error: TurnlogError): void => {
      problem ??= problemOf(error);
    };
    summary = await readSummary(log, entry.session, entry.revision, leftOut, known, keep);
  } catch (error) {
    problem = problemOf(error);
  }
  return { ...entry, ...summary, ...(problem === undefined ? {} : { problem }) };
}

/**
 * The sessions of a log by name, or those whose ids begin with a text. Reads of each only the events after its stored summary. A session that
 * cannot be read is a row with its `problem`.
 */
export async function* listSessions(
  log: EventLog,
  keep?: KeepSummary,
  prefix = "",
): AsyncGenerator<ListedSession> {
  const entries = log.list({ prefix });
  for await (const [entry, stored] of withSnapshots(log, entries, sessionSummary.name)) {
    const row = await listedSession(log, entry, stored, keep);
    // Deleted after its name was read.
    if (row.problem?.code !== "SESSION_DELETED") yield row;
  }
}

// Reads the snapshots of many sessions by few look-ups. Lists use it; opening a session reads its own.

/** Sessions whose snapshots are read by one look-up. */
const TOGETHER = 256;

/**
 * Yields each session with its stored snapshot of a projection. Undefined: it has none under its own name, or
 * the log reads single ones only. The snapshot may be newer than the session was when it was listed.
 */
export async function* withSnapshots<Session extends { readonly session: string }>(
  log: Pick<EventLog, "loadSnapshots">,
  sessions: AsyncIterable<Session> | Iterable<Session>,
  projection: string,
): AsyncGenerator<readonly [Session, Snapshot | undefined]> {
  let together: Session[] = [];
  for await (const session of sessions) {
    if (together.push(session) < TOGETHER) continue;
    yield* loaded(log, together, projection);
    together = [];
  }
  yield* loaded(log, together, projection);
}

async function* loaded<Session extends { readonly session: string }>(
  log: Pick<EventLog, "loadSnapshots">,
  sessions: readonly Session[],
  projection: string,
): AsyncGenerator<readonly [Session, Snapshot | undefined]> {
  const names = sessions.map(({ session }) => session);
  const stored = await log.loadSnapshots?.(names, projection);
  for (const [index, session] of sessions.entries()) yield [session, stored?.[index]];
}

// Tool calls with the model's questions and people's answers, joined from two projections. Pure.

/** A call to a tool: its status, its input, why it ended as it did, and what people were asked. */
export interface DescribedCall extends ToolCall {
  /** The input as it was recorded. Absent if the call is on a branch that was left. */
  readonly input?: JsonValue;
  /** Why it was denied or skipped, failed, or why its outcome is unknown. */
  readonly reason?: string;
  /** All questions about the call with their answers, oldest first. Absent if there was none. */
  readonly approvals?: readonly CallApproval[];
}

export function describedCalls(
  calls: readonly ToolCall[],
  { items, open }: HistoryState,
): readonly DescribedCall[] {
  if (calls.length === 0) return [];
  const steps = new Set(calls.map(({ step }) => step));
  const parts = new Map<string, CallPart>();
  const add = ({ step, parts: all }: StepItem): void => {
    for (const part of all) if (part.kind === "call") parts.set(`${step} ${part.callId}`, part);
  };
  for (const item of items) if (item.kind === "step" && steps.has(item.step)) add(item);
  if (open !== undefined) add(open);
  return calls.map((call) => {
    const part = parts.get(`${call.step} ${call.callId}`);
    return part === undefined ? call : described(call, part);
  });
}

function described(call: ToolCall, { input, outcome, approvals }: CallPart): DescribedCall {
  const reason =
    "reason" in outcome
      ? outcome.reason
      : outcome.status === "failed"
        ? outcome.error.message
        : undefined;
  return {
    ...call,
    input,
    ...(reason === undefined ? {} : { reason }),
    ...(approvals === undefined ? {} : { approvals }),
  };
}

// Compares the prompts at two positions of a session. Runs and writes nothing.

/** The difference between the prompts at two positions. */
export interface SessionDiff extends PromptDiff {
  readonly session: string;
  readonly before: number;
  readonly after: number;
}

/**
 * Compares the prompts at two positions of a session, in either order.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` if a position does not exist
 */
export async function diffSession(
  log: EventLog,
  session: string,
  before: number,
  after: number,
): Promise<SessionDiff> {
  await checkPosition(log, session, before);
  await checkPosition(log, session, after);
  const one = await readSessionState(log, session, before);
  // What both share is compared by identity. A position far ahead has a nearer snapshot.
  const isNear = after >= before && after - before < EVENTS_PER_SNAPSHOT;
  const other = isNear
    ? await foldOnwards(log, session, one, after)
    : await readSessionState(log, session, after);
  return { session, before, after, ...promptDiff(one, other) };
}
