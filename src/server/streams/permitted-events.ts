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

/** Asks whether a session may be read, now that something of it leaves. A promise only where `authorize` is asked. */
export type Gate = (event?: SessionEvent) => Promise<void> | undefined;

/** The gate of a stream. @throws TurnlogError `FORBIDDEN` once the session may not be read any more */
export function gateOf(session: string, mayRead: MayRead): Gate {
  const permission = newestPermission(mayRead);
  const pass = (isPermitted: boolean): undefined => {
    if (isPermitted) return;
    throw new TurnlogError("FORBIDDEN", `You may not read session ${session} any more.`, {
      session,
    });
  };
  return (event) => {
    const asked = permission(session, event);
    return typeof asked === "boolean" ? pass(asked) : asked.then(pass);
  };
}

/** Permission by what throws the refusal itself: a stream goes on while the request that began it is allowed. */
export function allowedBy(allow: () => Promise<void>): MayRead {
  return async () => {
    await allow();
    return true;
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
  const gate = gateOf(session, mayRead);
  for await (const event of events) {
    const asked = gate(event);
    // Most events need no answer, so nothing waits for one.
    if (asked !== undefined) await asked;
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
