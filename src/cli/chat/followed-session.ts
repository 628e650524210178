/** The events of a session while a chat is in it. */

import { firstAbort } from "../../shared/index.ts";
import type { SessionEvent } from "../../events/index.ts";
import type { ChatSession } from "./chat-session.ts";

export interface FollowedSession {
  /** Rejects if the events cannot be read or shown. */
  readonly ended: Promise<void>;
  /** Resolves when the last event has been shown. */
  stop(): Promise<void>;
}

/** Shows the events after a position until it is stopped or the process ends. */
export function followSession(
  session: ChatSession,
  position: number,
  ending: AbortSignal,
  show: (event: SessionEvent) => Promise<void>,
): FollowedSession {
  const following = new AbortController();
  const showing = (async (): Promise<void> => {
    using ends = firstAbort(following.signal, ending);
    const events = session.events({ from: position + 1, signal: ends.signal });
    for await (const event of events) await show(event);
  })();
  return {
    ended: showing,
    async stop() {
      following.abort();
      await showing.catch(() => {});
    },
  };
}
