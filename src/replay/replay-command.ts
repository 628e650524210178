/** Repeats the commands that a recorded session received from outside: the catalogue knows them by their events. */

import {
  defineEvents,
  isAppEvent,
  type DefinedEvents,
  type AppEventType,
  type EventSchemas,
  type SessionEvent,
} from "../events/index.ts";
import { commands, type Recording } from "../commands/index.ts";
import { isTimeUp } from "../models/index.ts";
import type { Session } from "../runtime/index.ts";
import { isOpening } from "./recorded-endings.ts";

/** Whether a command from outside caused this event; all others follow. `events`: all recorded events. */
function isCommand(event: SessionEvent, events: readonly SessionEvent[]): boolean {
  return commands.some(
    ({ recorded }) => recorded?.(event, events[event.position], events) !== undefined,
  );
}

/** What a caller, a clock or a new process caused, rather than the session itself. */
export function fromOutside(events: readonly SessionEvent[]): readonly SessionEvent[] {
  return events.filter(
    (event) =>
      isCommand(event, events) || isTimeUp(event) || isOpening(event, events[event.position - 2]),
  );
}

/** The program's recorded events. Their data was checked when it was appended. */
export function recordedAppEvents(events: readonly SessionEvent[]): DefinedEvents {
  const schemas: Record<AppEventType, EventSchemas[AppEventType]> = {};
  for (const { type } of events.filter(isAppEvent)) schemas[type] = anything;
  return defineEvents(schemas);
}

const anything: EventSchemas[AppEventType] = {
  "~standard": { version: 1, validate: (value) => ({ value }) },
};

/** Repeats the command that caused an event, in this very moment if it can. @param events - All recorded events. */
export async function repeatCommand(
  session: Session,
  event: SessionEvent,
  events: readonly SessionEvent[],
  recording: Omit<Recording, "view">,
): Promise<void> {
  for (const { name, recorded } of commands) {
    const args = recorded?.(event, events[event.position], events);
    if (args === undefined) continue;
    const asked = args({ ...recording, view: () => session.view() });
    const given = asked instanceof Promise ? await asked : asked;
    const method: unknown = Reflect.get(session, name);
    if (given !== undefined && typeof method === "function")
      await Reflect.apply(method, session, given);
    return;
  }
}
