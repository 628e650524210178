/** The interface by which model steps, tools and the compactor record events. {@link SessionActor} implements it. */

import type { EventBody } from "../events/index.ts";
import type { SessionState } from "./session-state.ts";

export interface SessionRecorder {
  readonly session: string;
  readonly state: SessionState;
  /** Numbers the event, folds it, moves the machine, and passes it to the writer. */
  record(body: EventBody, id?: string): void;
  /** Resolves when all recorded events are in the log, with the durability of the store. */
  durable(): Promise<void>;
  /** A wait, if the log has fallen behind or the event loop needs a turn. */
  pace(): Promise<void> | undefined;
  /** A wait before a large value is recorded: the session must stay this process's while the work on it holds the event loop. */
  outlast(value: unknown): Promise<void> | undefined;
  /** In a replay, whether the recording believed the bill or count that comes next. */
  believesBill(): boolean;
}
