/** What a fixture calls its session and those that it was forked from, whose names tell of their users. Pure. */

import type { SessionEvent } from "../../events/index.ts";

/** The name of every fixture's session. */
export const FIXTURE = "fixture";

/** The names that stand for those in a session's own events. */
export interface FixtureSessions {
  /** Of one that it was forked from. */
  parent(session: string): string;
  /** Of the one in which the call was made that an event starts. */
  caller(event: SessionEvent<"tool.started">): string;
}

/** @param events - In order, from the first on. */
export function fixtureSessions(events: readonly SessionEvent[]): FixtureSessions {
  const forks = events.filter((event) => event.type === "session.forked");
  const names = new Map<string, string>();
  for (const { data } of forks) {
    const { session } = data.from;
    if (!names.has(session)) names.set(session, `${FIXTURE}-${names.size + 1}`);
  }
  const parent = (session: string): string => names.get(session) ?? FIXTURE;
  return {
    parent,
    caller({ position, data: { step, callId, effectId } }) {
      const end = `/${step}/${callId}`;
      const made = effectId.endsWith(end) ? names.get(effectId.slice(0, -end.length)) : undefined;
      if (made !== undefined) return made;
      // One that was imported under another name is called as the part that it stands in.
      const next = forks.find((fork) => fork.position > position);
      return next === undefined ? FIXTURE : parent(next.data.from.session);
    },
  };
}
