/**
 * Reads events and skips those whose data does not fit their type (`EVENT_INVALID`): one bad event hides
 * no other. For counting, listing and deleting only: state and prompts must never skip an event.
 */

import type { SessionEvent } from "../catalogue/catalogue.ts";
import { TurnlogError } from "../values/errors.ts";
import type { EventLog, GlobalEvent } from "../ports/event-log.ts";

/** Called for each skipped event; may throw to end the reading. */
export type OnSkipped = (error: TurnlogError) => void;

/**
 * The valid events of a session, from a position (default 1).
 * @throws TurnlogError as `EventLog.read`, but not `EVENT_INVALID`
 */
export async function* readableEvents(
  log: Pick<EventLog, "read">,
  session: string,
  { from = 1, to }: { readonly from?: number; readonly to?: number },
  onSkipped: OnSkipped,
): AsyncGenerator<SessionEvent> {
  let next = from;
  for (;;) {
    if (to !== undefined && next > to) return;
    const range = { from: next, ...(to === undefined ? {} : { to }) };
    try {
      for await (const event of log.read(session, range)) {
        yield event;
        next = event.position + 1;
      }
      return;
    } catch (error) {
      if (!isInvalid(error) || error.position !== next) throw error;
      onSkipped(error);
      next += 1;
    }
  }
}

/**
 * The valid events of all sessions, from a global position.
 * @throws TurnlogError as `EventLog.readAll`, but not `EVENT_INVALID`
 */
export async function* allReadableEvents(
  log: Pick<EventLog, "readAll">,
  from: number,
  onSkipped: OnSkipped,
): AsyncGenerator<GlobalEvent> {
  let next = from;
  for (;;) {
    try {
      for await (const entry of log.readAll({ from: next })) {
        yield entry;
        next = entry.position + 1;
      }
      return;
    } catch (error) {
      const skipped = isInvalid(error) ? error.details["globalPosition"] : undefined;
      if (!isInvalid(error) || typeof skipped !== "number" || skipped < next) throw error;
      onSkipped(error);
      next = skipped + 1;
    }
  }
}

function isInvalid(error: unknown): error is TurnlogError {
  return TurnlogError.isInstance(error) && error.code === "EVENT_INVALID";
}
