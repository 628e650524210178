/** Permission in streams that go on: a session may change hands meanwhile, or be created under a name that was free. */

import { TurnlogError, type SessionEvent } from "../../events/index.ts";

type MayRead = (session: string) => Promise<boolean>;

/** Milliseconds for which an answer of `authorize` counts. */
const KNOWN_MS = 5_000;
/** Events after which other clients may read a session. */
const changing: ReadonlySet<string> = new Set([
  "session.created",
  "session.forked",
  "session.metadata-set",
]);

/** Whether a session may be read, now that this event of it leaves. A promise only where `authorize` is asked. */
export function newestPermission(
  mayRead: MayRead,
): (session: string, event?: SessionEvent) => boolean | Promise<boolean> {
  const known = new Map<string, { readonly until: number; readonly isPermitted: boolean }>();
  return (session, event) => {
    const last = known.get(session);
    const isKnown = last !== undefined && performance.now() < last.until;
    if (isKnown && (event === undefined || !changing.has(event.type))) return last.isPermitted;
    return mayRead(session).then((isPermitted) => {
      known.set(session, { until: performance.now() + KNOWN_MS, isPermitted });
      return isPermitted;
    });
  };
}

/**
 * The events of a session, for as long as they may be read.
 * @param as - The form in which an event leaves: one generator more for it costs each follower some microseconds.
 * @throws TurnlogError `FORBIDDEN` then
 */
export async function* permittedEvents<Item>(
  session: string,
  events: AsyncIterable<SessionEvent>,
  mayRead: MayRead,
  as: (event: SessionEvent) => Item,
): AsyncGenerator<Item, void, void> {
  const permission = newestPermission(mayRead);
  for await (const event of events) {
    const asked = permission(session, event);
    // Most events need no answer, so nothing waits for one.
    if (!(typeof asked === "boolean" ? asked : await asked))
      throw new TurnlogError("FORBIDDEN", `You may not read session ${session} any more.`, {
        session,
      });
    yield as(event);
  }
}

export function asIs(event: SessionEvent): SessionEvent {
  return event;
}

/** The event as a server-sent event. */
export function asMessage(event: SessionEvent): { readonly id: string; readonly data: string } {
  return { id: String(event.position), data: JSON.stringify(event) };
}
