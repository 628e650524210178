/** Processes send commands through this port to the process that runs a session. `inboxContract` checks it. */

import type { JsonValue } from "../values/json.ts";

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
   */
  onDue(see: (session: string) => void): Disposable;
}
