/** The session that a command is given to, and its refusals. Pure. */

import { TurnlogError } from "../events/index.ts";
import { isIdle, type SessionRecorder } from "../state/index.ts";

export type CommandTarget = Pick<SessionRecorder, "session" | "state">;

export function refusal(
  { session, state }: CommandTarget,
  command: string,
  why: string,
): TurnlogError {
  return new TurnlogError(
    state.machine.matches("closed") ? "SESSION_CLOSED" : "COMMAND_REFUSED",
    `Session ${session} cannot ${command}: ${why}.`,
    { session, position: state.position },
  );
}

/** @throws TurnlogError `SESSION_CLOSED` */
export function assertNotClosed(target: CommandTarget, command: string): void {
  if (target.state.machine.matches("closed")) throw refusal(target, command, "it is closed");
}

/** @throws TurnlogError `COMMAND_REFUSED` while a turn or a compaction runs */
export function assertIdle(target: CommandTarget, command: string): void {
  if (isIdle(target.state)) return;
  throw refusal(target, command, "it is running a turn; cancel it or wait");
}
