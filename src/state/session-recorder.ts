/** The one door into a session, as the things behind it (model step, tools, compactor) see it. */

import type { EventBody } from "../events/index.ts";
import type { Ending } from "./replay-gate.ts";
import type { SessionState } from "./session-state.ts";

export interface SessionRecorder {
  readonly session: string;
  /** What is known now, everything recorded included. */
  readonly state: SessionState;
  /** Numbers the event, hands it to the log's writer, folds it and moves the machine. */
  record(body: EventBody): void;
  /** Resolves when everything recorded so far is in the log, as durable as the store was opened for. */
  durable(): Promise<void>;
  /** A wait, when the log has fallen behind or the event loop has not been given a turn for long. */
  pace(): Promise<void> | undefined;
  /** A wait before the end of something is recorded, in a replay. */
  replayGate(ending: Ending): Promise<void> | undefined;
}
