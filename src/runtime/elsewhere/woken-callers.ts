/** Opens the sessions whose calls wait for a sub-agent, before somebody answers it. */

import { isElsewhere, type EventLog } from "../../events/index.ts";
import { isIdle } from "../../state/index.ts";
import { endAbandoned, isAbandoned } from "../live/abandoned-turns.ts";
import type { LiveSessions } from "../live/live-sessions.ts";

/**
 * The session whose call waits is recovered if it was not: it goes on, or its call has ended. Then the turn of the
 * sub-agent is cancelled, and the answer comes too late.
 */
export async function wakeCaller(
  log: EventLog,
  live: LiveSessions,
  session: string,
): Promise<void> {
  const { actor } = await live.activate(session);
  const { summary, machine } = actor.state;
  const caller = summary.parent?.session;
  if (caller === undefined || isIdle(actor.state) || machine.context.turn > 1) return;
  if ((await log.revision(caller)) === 0) return;
  try {
    await wakeCaller(log, live, caller);
  } catch (error) {
    // The process that runs it has recovered it.
    if (!isElsewhere(error)) throw error;
  }
  if (!(await isAbandoned(log, session, actor.state))) return;
  endAbandoned(actor);
  await live.watch(session, ({ isIdle: isOver }) => isOver || undefined);
}
