/** The public interface of a runtime, and the errors of a runtime that is closed or a session that is gone. */

import {
  TurnlogError,
  type BlobStore,
  type CollectedBlobs,
  type EventLog,
  type EventSchemas,
  type JsonObject,
  defined,
} from "../../events/index.ts";
import type { Agent } from "../../agent/index.ts";
import type { FinishedLogin } from "../../mcp/index.ts";
import type { Backup, BackupOptions } from "../../store/leveldb/index.ts";
import type { DeletedWithBlobs } from "../../media/index.ts";
import type {
  DeletedSessions,
  DeletionQuery,
  Redacted,
  RedactionTarget,
  RedactOptions,
} from "../../archive/index.ts";
import type { DeletionOptions } from "../../commands/index.ts";
import type { BillQuery, BillRow } from "../../context/index.ts";
import type { Circuit } from "../model/failover.ts";
import type { Consumer, ConsumeOptions, ConsumerHandler } from "./consumers.ts";
import type { Session } from "./session.ts";
import {
  missingSession,
  type ListedSession,
  type SessionQuery,
  type SessionRow,
  type WaitingQuestion,
} from "../../state/index.ts";

export interface OpenSessionOptions {
  /** Whether to create the session if it does not exist. Default: true. */
  readonly createIfMissing?: boolean;
  /**
   * The name of the session's agent, in a runtime with `agents`. It is recorded: later openings need no name, and
   * a different one is refused. `session.configure` changes it.
   */
  readonly agent?: string;
  /**
   * Your program's own notes about the session, such as its tenant: JSON, at most 16 KiB. They are recorded when
   * the session is created. An existing session must have these values, or the call is refused; `setMetadata`
   * changes them. With `encryption` they are encrypted.
   */
  readonly metadata?: JsonObject;
}

/** Options of {@link Runtime.resumeAll}. */
export interface ResumeOptions {
  /** The most sessions whose turns run at the same time. Default: 8. */
  readonly concurrency?: number;
  /** Metadata that a session must have. Default: all sessions. */
  readonly where?: JsonObject;
}

/** The sessions that {@link Runtime.resumeAll} found, by their ids. */
export interface ResumedSessions {
  /** Their turns ended or continued, as `recovery` says, and are at rest now. */
  readonly resumed: readonly string[];
  /** Scheduled messages wait in them; this runtime delivers them at their times. */
  readonly scheduled: readonly string[];
  /** They could not be resumed, or could not be read to find out whether they should be. */
  readonly failed: readonly { readonly session: string; readonly error: TurnlogError }[];
}

/** Options of {@link Runtime.close}. */
export interface CloseOptions {
  /** Whether running turns are left to the next process, whatever `recovery` says here. */
  readonly leaveTurns?: boolean;
}

/** Options of {@link Runtime.finishLogin}. */
export interface FinishLoginOptions {
  /**
   * Whether who came back from the login may answer a question that waits for it. A login that no such question waits
   * for is refused: nobody may log in for another person. Default: everybody may.
   */
  readonly mayAnswer?: (
    question: WaitingQuestion,
    login: FinishedLogin,
  ) => boolean | Promise<boolean>;
}

/** Options of {@link Runtime.approvals}. */
export interface ApprovalsOptions {
  /** Metadata that a session must have. Default: all sessions. */
  readonly where?: JsonObject;
}

/**
 * An open store and the agent that runs its sessions. Created by {@link createRuntime}.
 * @example
 * async function ask(runtime: Runtime, id: string, question: string): Promise<string> {
 *   const turn = await (await runtime.session(id)).send(question);
 *   return (await turn.result).text;
 * }
 */
export interface Runtime<Events extends EventSchemas = EventSchemas> extends AsyncDisposable {
  /** The log of the store, for reading. */
  readonly log: EventLog;
  /** The blobs of its sessions. Undefined without a blob store. */
  readonly blobs: BlobStore | undefined;
  /**
   * Opens a session by its id: creates it, or resumes it from its log. Without an id, creates a new one.
   * @throws TurnlogError `AGENT_MISSING`, `COMMAND_REFUSED` (it has another agent or other metadata), `SESSION_NOT_FOUND` with `createIfMissing: false`, `SESSION_DELETED`,
   * `INVALID_INPUT`, `LOG_DAMAGED`, `RUNTIME_CLOSED`
   */
  session(id?: string, options?: OpenSessionOptions): Promise<Session<Events>>;
  /**
   * The agent that runs a stored session, without opening it: for `replay` of `turnlog/testing`.
   * @param name - A recorded name among the runtime's `agents`. Default: the session's last one.
   * @throws TurnlogError `AGENT_MISSING`, `INVALID_INPUT`, `SESSION_NOT_FOUND`
   */
  agentOf(session: string, name?: string): Promise<Agent>;
  /** Lists all sessions of the store by name, without reading their events. */
  sessions(): AsyncIterable<ListedSession>;
  /**
   * Lists sessions, newest first by the beginning of their last turn, with the calls that their turns wait for.
   * The first call reads the stored summaries of all sessions, later calls only those of the page; with a `where`
   * whose keys are not `indexed`, as many as it takes to fill the page.
   * @example
   * const where = { userId: "u-1" };
   * const page = await Array.fromAsync(runtime.sessions({ where, limit: 50 }));
   * const next = await Array.fromAsync(runtime.sessions({ where, limit: 50, after: page.at(-1) }));
   * @throws TurnlogError `INVALID_INPUT`
   */
  sessions(query: SessionQuery): AsyncIterable<SessionRow>;
  /**
   * Continues the sessions that a process left unfinished when it died, by the runtime's `recovery`, and
   * schedules the delivery of messages for later. It reads the list of sessions and opens only those. Resolves
   * when all of them are at rest. A session that fails does not stop the others.
   * @example
   * const { resumed, failed } = await runtime.resumeAll({ concurrency: 4 });
   * for (const { session, error } of failed) console.error(session, error.code);
   * @throws TurnlogError `INVALID_INPUT`, `RUNTIME_CLOSED`
   */
  resumeAll(options?: ResumeOptions): Promise<ResumedSessions>;
  /**
   * The questions that wait for people and the calls that wait for clients, in all sessions, oldest first. It
   * reads the list of sessions and then only those that wait. A waiting session that cannot be read is left out
   * with a warning.
   * @example
   * for (const question of await runtime.approvals({ where: { team: "ops" } })) {
   *   if (question.kind !== "approval" || question.ageMs < 3_600_000) continue;
   *   const session = await runtime.session(question.session);
   *   await session.deny(question.approval.approvalId, { reason: "Nobody answered within an hour." });
   * }
   * @throws TurnlogError `INVALID_INPUT`
   */
  approvals(options?: ApprovalsOptions): Promise<readonly WaitingQuestion[]>;
  /**
   * Finishes the login at an MCP server that began with a question of kind `login-required`, and approves the calls
   * that wait for it, in this process and in others. Give it the query of your callback route.
   * @example
   * const query = new URL(request.url).searchParams;
   * const { server } = await runtime.finishLogin(query, {
   *   mayAnswer: async ({ metadata }) => metadata?.["userId"] === (await userOf(request)),
   * });
   * @throws TurnlogError `COMMAND_REFUSED` for an unknown or finished login, `FORBIDDEN` for another person's,
   * `MCP_SERVER_FAILED` for one that the server refused: the calls still wait
   */
  finishLogin(query: URLSearchParams, options?: FinishLoginOptions): Promise<FinishedLogin>;
  /**
   * What all sessions of the store have spent, those of sub-agents and deleted ones included, the dearest first. It
   * reads stored sums and the events behind them. A fork pays its own part.
   * @example
   * const [dearest] = await runtime.bill({ by: "model", from: "2026-11-01" });
   * console.log(dearest?.of["model"], dearest?.dollars);
   * @throws TurnlogError `INVALID_INPUT`, `RUNTIME_CLOSED`
   */
  bill(query?: BillQuery): Promise<readonly BillRow[]>;
  /**
   * Deletes a session permanently: events, snapshots, its row in the list, and the blobs that no other session
   * uses. Its name cannot be used again. `forks: "copy"` first copies the shared events into its forks;
   * `cancel: true` first ends its turn, in whatever process it runs and whatever it waits for. What it spent stays in
   * `bill`, by day, agent, model and the other values, unless you pass `bill: "forget"`.
   * @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_HAS_FORKS` (`details.forks` names them),
   * `COMMAND_REFUSED` while a turn runs or waits and `cancel` is not set, `RUNTIME_CLOSED`, and what
   * `EventLog.delete` throws
   */
  delete(session: string, options?: DeletionOptions): Promise<DeletedWithBlobs>;
  /**
   * Permanently deletes the sessions that match a query, as `delete` does for one. A session stays if its turn
   * runs or waits or messages wait in it (`cancel: true` ends them), or if a remaining fork shares its events
   * (`forks: "copy"`): `kept` has the reasons.
   * @example
   * const olderThan = new Date(Date.now() - 30 * 86_400_000);
   * const { deleted, kept } = await runtime.deleteSessions({ olderThan, dryRun: true });
   * @throws TurnlogError `INVALID_INPUT`, even if `olderThan` and `where` are both absent; `RUNTIME_CLOSED`
   */
  deleteSessions(query: DeletionQuery): Promise<DeletedSessions>;
  /**
   * Removes the blobs that no session uses: those of a process that died before their event was written, or of
   * sessions that were deleted during a copy. Sessions may keep running, and keep the blobs that they are about
   * to use. It reads the events of all sessions.
   * @throws TurnlogError `LOG_DAMAGED` if a session cannot be read: then nothing is removed
   */
  collectBlobs(): Promise<CollectedBlobs>;
  /**
   * The models and providers that failed for good and have not answered since. Steps go past those whose circuit is
   * open, if their agent has a `fallback`. Empty with `circuitBreaker: false`.
   */
  circuits(): readonly Circuit[];
  /**
   * Permanently redacts content of a session, as `Session.redact` does.
   * @throws TurnlogError as `Session.redact`, `RUNTIME_CLOSED`
   */
  redact(
    session: string,
    what: readonly RedactionTarget[],
    options?: RedactOptions,
  ): Promise<Redacted>;
  /**
   * Copies the store into an empty folder while its sessions run, as `StoreLog.backup` does.
   * @throws TurnlogError as `StoreLog.backup`; `COMMAND_REFUSED` if you passed the log: back it up
   * where you opened it
   */
  backup(dir: string, options?: BackupOptions): Promise<Backup>;
  /**
   * Passes the events of all sessions to a handler, one after another in global order: stored ones, then live
   * ones, without a gap. The position of the last event is stored under the name after the handler returns, and
   * the next start continues from there. Delivery is at least once: after a crash, the last events may come
   * again, so store the global `position` together with what you derive from the event, and skip events up to it.
   * Events of deleted sessions are left out. A fork contributes only its own events, from `session.forked` on; an
   * import contributes all events of its session. If the handler throws, the consumer stops (`done`,
   * `onWarning`); while the store is unreachable, it waits.
   * @throws TurnlogError `INVALID_INPUT`, `COMMAND_REFUSED` (the name runs already, or the log stores no
   * positions), `RUNTIME_CLOSED`, `LOG_DAMAGED`
   * @example
   * await using consumer = await runtime.consume("tickets", async ({ session, event, position }) => {
   *   const ticket = tickets.parse(event);
   *   if (ticket?.type === "app.ticket-opened") await insert(ticket.data, { session, position });
   * });
   */
  consume(name: string, handler: ConsumerHandler, options?: ConsumeOptions): Promise<Consumer>;
  /**
   * Stops consumers and running work, waits until all recorded events are stored, and closes the store. With
   * `recovery: "continue"`, and on a log that several processes share, running turns are left to the next
   * process, as if this one had been killed; promises that wait for them reject with `RUNTIME_CLOSED`. With
   * `"stop"` the turns are cancelled together with the turns of their sub-agents, even those that wait for
   * people. `leaveTurns` decides for this close: `true` leaves them, `false` cancels them.
   * @throws TurnlogError `INVALID_INPUT`
   */
  close(options?: CloseOptions): Promise<void>;
}

function gone(session: string, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "SESSION_DELETED",
    `Session ${session} was deleted permanently, and its name cannot be used again. Use another name.`,
    { session, cause },
  );
}

/**
 * The error of an activation. That the id belongs to a deleted session is told by the append, or it is why the
 * session names no agent.
 */
export async function asGone(log: EventLog, session: string, error: unknown): Promise<unknown> {
  if (!TurnlogError.isInstance(error)) return error;
  const { code, cause } = error;
  if (TurnlogError.isInstance(cause) && cause.code === "SESSION_DELETED")
    return gone(session, cause);
  if (code !== "INVALID_INPUT" && code !== "CALLBACK_FAILED") return error;
  const missing = await missingSession(log, session);
  return missing.code === "SESSION_DELETED" ? gone(session, error) : error;
}

/** The error of a passivated actor: the caller finds a new actor when it calls again. */
export function reopened(session: string): TurnlogError {
  return new TurnlogError(
    "SESSION_FAILED",
    `Session ${session} was passivated. It is available again: repeat the call.`,
    { session, details: { isBack: true } },
  );
}

/** Whether the session is available again, with a new actor. */
export function isBack(error: unknown): boolean {
  return TurnlogError.isInstance(error) && error.details?.["isBack"] === true;
}

/** @param session - None, where all are meant. */
export function closed(session?: string): TurnlogError {
  const what =
    session === undefined
      ? "The runtime is closed."
      : `Session ${session} cannot be used: its runtime is closed.`;
  return new TurnlogError(
    "RUNTIME_CLOSED",
    `${what} Create a runtime on the store again.`,
    defined({ session }),
  );
}
