/**
 * A command is executed once, no matter which processes die: the last of its events carries an id derived from
 * the command's id, so that one append stores both. The next process that gets the command finds the event.
 */

import type { EventLog } from "../../events/index.ts";
import { appendedAt } from "../../projections/index.ts";
import { stateAt, type SessionState } from "../../state/index.ts";
import { leftTurns, type Rewound } from "../../commands/index.ts";

/** The id of the last event of a command; undefined for a command that no other process executes. */
export function commandEventId(command: string | undefined): string | undefined {
  return command === undefined ? undefined : `turnlog.command:${command}`;
}

/** The position of the last event of a command; undefined if it was not executed, or became no event. */
export function executedAt(
  { appended }: SessionState,
  command: string | undefined,
): number | undefined {
  const id = commandEventId(command);
  return id === undefined ? undefined : appendedAt(appended, id);
}

/** What a recorded rewind or checkout answered, and the state before it. */
export async function recordedRewind(
  log: EventLog,
  session: string,
  position: number,
): Promise<{ readonly before: SessionState; readonly rewound: Rewound }> {
  const before = await stateAt(log, session, position - 1);
  const [event] = await log.readAt(session, [position]);
  const { to, branch = position } =
    event?.type === "session.rewound" ? event.data : { to: position };
  return { before, rewound: { branch, position, to, ...leftTurns(before, to) } };
}
