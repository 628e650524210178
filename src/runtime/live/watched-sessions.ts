/** Waits for and reads the state of a session, whichever process runs it and however often it is activated. */

import { isElsewhere, type EventLog } from "../../events/index.ts";
import { readSessionState, type SessionState } from "../../state/index.ts";
import type { FollowedSessions } from "./followed-sessions.ts";
import type { LiveSession } from "./live-session.ts";
import { isBack } from "../api/runtime.ts";
import type { SessionActor } from "../session/actor.ts";
import type { Watched } from "../session/watchers.ts";

/** The registry of live sessions. */
interface Live {
  activate(session: string): Promise<LiveSession>;
  actor(session: string): Promise<SessionActor>;
}

export async function watchSession<Found>(
  live: Live,
  followed: FollowedSessions,
  session: string,
  look: (watched: Watched) => Found | undefined,
  signal?: AbortSignal,
): Promise<Found> {
  for (;;) {
    try {
      const { actor, watchers } = await live.activate(session);
      return await watchers.watch(actor, () => look(actor), signal);
    } catch (error) {
      if (isBack(error)) continue;
      if (!isElsewhere(error)) throw error;
      return await followed.watch(session, look, signal);
    }
  }
}

export async function durableState(
  live: Live,
  log: EventLog,
  session: string,
): Promise<SessionState> {
  for (;;) {
    try {
      const actor = await live.actor(session);
      // Taken before the wait: events recorded meanwhile may not be durable yet.
      const { state } = actor;
      await actor.durable();
      return state;
    } catch (error) {
      if (isBack(error) && isElsewhere(error)) continue;
      if (!isElsewhere(error)) throw error;
      return await readSessionState(log, session);
    }
  }
}
