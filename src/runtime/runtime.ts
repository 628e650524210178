/** What a program holds of a runtime, and what it is told when it asks too late. */

import {
  TurnlogError,
  type CollectedBlobs,
  type DeleteOptions,
  type EventLog,
} from "../events/index.ts";
import type { Backup, BackupOptions } from "../store/leveldb/index.ts";
import type { DeletedWithBlobs } from "../media/index.ts";
import type { Redacted, RedactionTarget, RedactOptions } from "../archive/index.ts";
import type { Session } from "./session.ts";
import type { TrimmedLog, TrimLogOptions } from "../archive/trim/index.ts";
import type { ListedSession } from "../state/index.ts";

/** How a session is asked for by its id. */
export interface OpenSessionOptions {
  /** Whether one that there is not is begun. Default true. */
  readonly createIfMissing?: boolean;
}

/** An open store with an agent that runs its sessions; {@link createRuntime} makes it. */
export interface Runtime extends AsyncDisposable {
  /** The log behind it, for reading. */
  readonly log: EventLog;
  /**
   * A session by its id: created, or resumed from its log. Without an id, a new one.
   * @throws TurnlogError `SESSION_NOT_FOUND` with `createIfMissing: false`, `SESSION_DELETED`,
   * `INVALID_INPUT`, `LOG_DAMAGED`, `RUNTIME_CLOSED`
   */
  session(id?: string, options?: OpenSessionOptions): Promise<Session>;
  /** All sessions of the store by name, without reading their events. */
  sessions(): AsyncIterable<ListedSession>;
  /**
   * Deletes a session for good: events, snapshots, its place in the list, and the blobs that no other
   * session has; its name is not used again. One that is idle is closed first. `forks: "copy"` gives its forks what they share with it.
   * @throws TurnlogError `SESSION_NOT_FOUND`, `SESSION_HAS_FORKS` (`details.forks` names them),
   * `COMMAND_REFUSED` while a turn runs or waits for an approval, `RUNTIME_CLOSED`, and what
   * `EventLog.delete` throws
   */
  delete(session: string, options?: DeleteOptions): Promise<DeletedWithBlobs>;
  /**
   * Takes away the blobs that no session has: of turns whose process died before their event was
   * written, or of sessions that were deleted while somebody copied. Sessions may run meanwhile; what
   * they are about to refer to stays. Reads the events of all sessions.
   * @throws TurnlogError `LOG_DAMAGED` where a session cannot be read: nothing is taken then
   */
  collectBlobs(): Promise<CollectedBlobs>;
  /**
   * Redacts content of a session for good, as `Session.redact` does.
   * @throws TurnlogError as `Session.redact`, `RUNTIME_CLOSED`
   */
  redact(
    session: string,
    what: readonly RedactionTarget[],
    options?: RedactOptions,
  ): Promise<Redacted>;
  /**
   * Copies the store into an empty folder, while its sessions run, as `StoreLog.backup` does.
   * @throws TurnlogError as `StoreLog.backup`; `COMMAND_REFUSED` when the log is one of your own:
   * copy it where you have it
   */
  backup(dir: string, options?: BackupOptions): Promise<Backup>;
  /**
   * Drops delta boundaries or reasoning of a session's old steps, as {@link trimLog} does. A session
   * that is awake and idle is put away first, and is opened again by whoever needs it.
   * @throws TurnlogError as `trimLog`; `COMMAND_REFUSED` while a turn runs, and when the log is one of your own
   */
  trimLog(session: string, options: TrimLogOptions): Promise<TrimmedLog>;
  /** Stops what runs, waits for what was recorded, and lets go of the store. */
  close(): Promise<void>;
}

/** What becomes of who still waits for a session that was deleted. */
export function gone(session: string, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "SESSION_DELETED",
    `Session ${session} was deleted for good, and its name is not used again. Use another name.`,
    { session, cause },
  );
}

/** What becomes of who waits for a session that was put away while what is stored of it is changed. */
export function reopened(session: string): TurnlogError {
  return new TurnlogError(
    "SESSION_FAILED",
    `Session ${session} was put away while what is stored of it was changed, and is there again. Ask it once more.`,
    { session, details: { isBack: true } },
  );
}

/** Whether it is there again for who asks once more. */
export function isBack(error: unknown): boolean {
  return TurnlogError.isInstance(error) && error.details?.["isBack"] === true;
}

/** What becomes of who still waits for anything when the runtime is closed. */
export function closed(session: string): TurnlogError {
  return new TurnlogError(
    "RUNTIME_CLOSED",
    `Session ${session} cannot be used: its runtime is closed. Create a runtime on the store again.`,
    { session },
  );
}
