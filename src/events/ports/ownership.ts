/** The port that decides which process runs a session. `ownershipContract` of `turnlog/testing` checks it. */

import { TurnlogError } from "../values/errors.ts";
import type { JsonValue } from "../values/json.ts";

/**
 * The right of one process to run a session. It is lost when the process renews it too late; the log then
 * refuses the appends that carry its epoch.
 */
export interface Claim {
  /**
   * Raised whenever another process takes the session: `append({ epoch })` is refused once a later one
   * exists. Undefined where one process owns the whole store.
   */
  readonly epoch: number | undefined;
  /** Aborts when the claim is lost. The reason is a TurnlogError `SESSION_ELSEWHERE`. */
  readonly lost: AbortSignal;
  /**
   * Checks the clock too: a process that slept may have lost the claim before its timer fires. Call it before
   * each effect in the world. @throws TurnlogError `SESSION_ELSEWHERE`
   */
  assertHeld(): void;
  /**
   * Makes the claim last for this many milliseconds from now even if nothing renews it, since work on a large
   * value blocks the event loop. Resolves even if that failed. Other processes wait that long if this one dies.
   */
  prolong?(ms: number): Promise<void>;
  /**
   * Gives the session back. All appends with the epoch must be written before. `unfinished`: another process
   * should continue it (`Inbox.onDue`). Call it again after it has failed, also once this process has the session
   * again: that claim stays.
   */
  release(options?: { readonly unfinished?: boolean }): Promise<void>;
}

/** Which process runs a session: at most one at a time. */
export interface Ownership {
  /**
   * Takes the session for this process. Undefined if another living process has it. A process that has the
   * session gets the same epoch again. @throws TurnlogError `LOG_FAILED`, `LOG_CLOSED`, `INVALID_INPUT`
   */
  claim(session: string): Promise<Claim | undefined>;
  /** The sessions that living processes have now. Optional. @throws TurnlogError `LOG_FAILED`, `LOG_CLOSED` */
  taken?(): Promise<ReadonlySet<string>>;
}

/**
 * The error of a session that another process runs.
 * @param isLost - This process ran it until now: the same call again finds who runs it.
 */
export function elsewhere(session: string, isLost = false, cause?: unknown): TurnlogError {
  const details = isLost ? { isBack: true } : {};
  return new TurnlogError(
    "SESSION_ELSEWHERE",
    `Another process runs session ${session}. Its events can be read and followed here; repeat the call when that process has given the session back.`,
    { session, details, cause },
  );
}

/** @param session - Whether it is the error of this session. Default: of any. */
export function isElsewhere(error: unknown, session?: string): boolean {
  if (!TurnlogError.isInstance(error) || error.code !== "SESSION_ELSEWHERE") return false;
  return session === undefined || error.session === session;
}

const never: AbortSignal = new AbortController().signal;
const held: Claim = {
  epoch: undefined,
  lost: never,
  assertHeld: () => {},
  release: async () => {},
};

/** For a store that one process owns: every session is its own. */
export const oneProcess: Ownership = { claim: async () => held };

// Processes send commands through this port to the process that runs a session. `ownershipContract` checks it with `inbox`.

/** A method of a session with its arguments, for the process that runs the session. */
export interface InboxCommand {
  /** Unique in the session. */
  readonly id: string;
  readonly name: string;
  readonly args: readonly JsonValue[];
}

/** The commands of all sessions that wait for the process that runs them. */
export interface Inbox {
  /** Stores a command, durably. Does nothing if the session has a command of that id. @throws TurnlogError `LOG_FAILED` */
  post(session: string, command: InboxCommand): Promise<void>;
  /** Resolves with the command's answer, and forgets both. Rejects with the reason of `signal` when it aborts. */
  answerOf(session: string, id: string, signal?: AbortSignal): Promise<JsonValue>;
  /** The commands of a session without an answer, in the order in which they were posted. */
  unanswered(session: string): Promise<readonly InboxCommand[]>;
  /** Stores an answer, unless another process runs the session or the command has one. */
  answer(session: string, id: string, answer: JsonValue): Promise<void>;
  /**
   * Calls `see` with each session that this process should attend to, again and again while that lasts:
   * commands wait and no other living process runs it, or the process that ran it died or gave it up
   * unfinished. Several processes may hear of the same session; `claim` decides.
   * @param failed - Told once of a failure to look that is no outage, until it has passed.
   */
  onDue(see: (session: string) => void, failed?: (error: unknown) => void): Disposable;
}
