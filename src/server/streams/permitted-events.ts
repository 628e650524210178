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

/** Whether a session may be read, now that this event of it leaves. */
export function newestPermission(
  mayRead: MayRead,
): (session: string, event?: SessionEvent) => Promise<boolean> {
  const known = new Map<string, { readonly at: number; readonly permission: Promise<boolean> }>();
  return async (session, event) => {
    const last = known.get(session);
    const isKnown = last !== undefined && performance.now() - last.at < KNOWN_MS;
    if (isKnown && (event === undefined || !changing.has(event.type))) return await last.permission;
    const permission = mayRead(session);
    known.set(session, { at: performance.now(), permission });
    return await permission;
  };
}

/** The events of a session, for as long as they may be read. @throws TurnlogError `FORBIDDEN` then */
export async function* permittedEvents(
  session: string,
  events: AsyncIterable<SessionEvent>,
  mayRead: MayRead,
): AsyncGenerator<SessionEvent, void, void> {
  const isPermitted = newestPermission(mayRead);
  for await (const event of events) {
    if (!(await isPermitted(session, event)))
      throw new TurnlogError("FORBIDDEN", `You may not read session ${session} any more.`, {
        session,
      });
    yield event;
  }
}
