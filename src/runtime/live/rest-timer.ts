/** Passivates a session that is at rest once it has recorded nothing for a while. */

import { after } from "../../shared/index.ts";
import { isAtRest } from "../../state/index.ts";
import type { LiveSession } from "./live-session.ts";

/** Starts the wait anew. */
export function passivateLater(
  live: LiveSession,
  milliseconds: number,
  passivate: () => void,
): void {
  live.idleTimer?.[Symbol.dispose]();
  live.idleTimer = undefined;
  const { actor, watchers } = live;
  if (!live.isActive || !isAtRest(actor.state)) return;
  const due = (): void => {
    if (!isAtRest(actor.state) || actor.ended !== undefined) return;
    // Who watches may leave without an event; and the next activation reads the log, so all events must be in it.
    if (watchers.size > 0 || !actor.isWritten) return passivateLater(live, milliseconds, passivate);
    // The link is an event, and each event starts the wait again.
    if (actor.closeChain()) return;
    passivate();
  };
  live.idleTimer = after(milliseconds, due, false);
}
