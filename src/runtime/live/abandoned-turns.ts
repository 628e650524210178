/**
 * Turns of sub-agents that nothing waits for any more: their call has ended, by a recovery that stops turns, or
 * by a cancel whose process died. Such a turn is cancelled, since its further work would cost money and have
 * effects for a turn that is over.
 */

import type { EventLog } from "../../events/index.ts";
import { isIdle, readSessionState, type SessionState } from "../../state/index.ts";
import type { Session } from "../api/session.ts";
import type { SessionActor } from "../session/actor.ts";

const reason = "the call that it answered has ended";

/** The sessions of the calls of sub-agents that run. */
export function runningChildren({ toolCalls }: Pick<SessionState, "toolCalls">): readonly string[] {
  return toolCalls.open.flatMap(({ child }) => child ?? []);
}

/**
 * Whether the running turn of a session is the task of a call that has ended.
 * @param stateOf - Reads the durable state of the caller; one that this process runs may be ahead of the log.
 */
export async function isAbandoned(
  log: EventLog,
  session: string,
  state: SessionState,
  stateOf = (caller: string): Promise<SessionState> => readSessionState(log, caller),
): Promise<boolean> {
  const { parent } = state.summary;
  // The task is the first turn; later ones are of people who write to the session.
  if (parent === undefined || isIdle(state) || state.machine.context.turn > 1) return false;
  // Without its parent, a session is one like others.
  if ((await log.revision(parent.session)) === 0) return false;
  const caller = await stateOf(parent.session);
  return caller.machine.context.skipCalls || !runningChildren(caller).includes(session);
}

/** Cancels the turn, unless it stops already. */
export function endAbandoned(actor: SessionActor): void {
  const { state } = actor;
  const { turn, stopping } = state.machine.context;
  if (isIdle(state) || stopping !== undefined) return;
  actor.record({ type: "turn.cancel-requested", data: { turn, reason } });
}

/** Ends the turn of a sub-agent, in whatever process it runs, if its call has ended. */
export async function cancelAbandoned(
  log: EventLog,
  child: string,
  open: (child: string) => Promise<Session>,
): Promise<void> {
  if ((await log.revision(child)) === 0) return;
  if (!(await isAbandoned(log, child, await readSessionState(log, child)))) return;
  await (await open(child)).cancel({ reason });
}
