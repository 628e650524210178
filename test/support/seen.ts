/** Waits for what happens in a session: never for time to pass. */

import type { EventMap, EventType, SessionEvent } from "../../src/events/index.ts";
import type { Session } from "../../src/public/index.ts";

/** The first event of a type, from a position on, that fits. */
export async function seen<Type extends EventType>(
  session: Session,
  type: Type,
  fits: (data: EventMap[Type], position: number) => boolean = () => true,
  from = 1,
): Promise<SessionEvent<Type>> {
  for await (const event of session.events({ from })) {
    // The type tells the rest, which the compiler does not follow through a type parameter.
    if (event.type === type && fits(event.data as EventMap[Type], event.position)) {
      return event as SessionEvent<Type>;
    }
  }
  throw new Error(`The log of ${session.id} was closed before there was a ${type}.`);
}
