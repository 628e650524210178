/** What a lane puts in the place of the world when a recorded session runs again: see `recorded-lane` and `candidate-lane`. */

import type { Agent } from "../agent/index.ts";
import type { NewEvent, SessionEvent } from "../events/index.ts";
import type { RuntimeOptions } from "../runtime/index.ts";
import type { Timer } from "../shared/index.ts";

export interface StageLane {
  /** Whether the lane has come to its end: nothing more is appended. */
  readonly isOver: boolean;
  /** An event is about to be appended. Returns it with its time. */
  happened(event: NewEvent): NewEvent;
  /** Events that the stage copies from the recording. */
  copied(events: readonly SessionEvent[]): void;
  /** The session has this name from here on. */
  addName(name: string): void;
  /** The agent as it runs in this lane. @param onRun - Takes the position of a recorded call's start as its tool runs */
  equip(agent: Agent, opening: SessionEvent, onRun: (start: number) => void): Agent;
  testing(agent: Agent): NonNullable<RuntimeOptions["testing"]>;
  /** Waits for a limit, a back-off or a tool. */
  readonly wait: Timer;
  /** An event from outside as it is repeated here; undefined if it has no place any more. */
  repeated(event: SessionEvent): SessionEvent | undefined;
  /** An event whose positions are those of this lane. */
  moved(event: SessionEvent): SessionEvent;
  /** Set by the stage. Called with a recorded answer whose question comes at another place here. */
  onAsked?: (answer: SessionEvent) => void;
  /** What came from outside does not happen here: it was refused, or nothing follows any more. */
  missing(position: number): void;
  /** The recording is over, and the session still waits for an answer. */
  stuck(): void;
}
