/** `Session.append`: events of the user's own program in the log of a session. The machine does not see them. */

import { isDeepStrictEqual } from "node:util";
import {
  checkedAppData,
  isAppType,
  isRedacted,
  TurnlogError,
  type DefinedEvents,
  type AppEventType,
  type EventLog,
  type EventSchemas,
} from "../../events/index.ts";
import { appendedAt } from "../../projections/index.ts";
import { nearestName } from "../../validation/index.ts";
import type { LiveSessions } from "../live/live-sessions.ts";
import type { ProgramEvents } from "../api/program-events.ts";
import { assertNotClosed } from "../../commands/index.ts";

export function sessionAppend(
  session: string,
  { log, live, events }: AppendHost,
): Pick<ProgramEvents<EventSchemas>, "append"> {
  return {
    async append(type, given, { id } = {}) {
      const data = checkedAppData(definedIn(events, type, session), type, given);
      const actor = await live.actor(session);
      const known = id === undefined ? undefined : appendedAt(actor.state.appended, id);
      if (known !== undefined) {
        await actor.durable();
        const [event] = await log.readAt(session, [known]);
        const isSame =
          event?.type === type && !isRedacted(event) && isDeepStrictEqual(event.data, data);
        if (isSame) return { position: known, repeated: true };
        throw new TurnlogError(
          "EVENT_ID_CONFLICT",
          `Session ${session} already has a different event with the id ${JSON.stringify(id)}, at position ${known}. Nothing was appended. Use a new id for a new event.`,
          { session, position: known },
        );
      }
      assertNotClosed(actor, "take events");
      const position = actor.state.position + 1;
      actor.record({ type, data }, id);
      await actor.durable();
      return { position, repeated: false };
    },
  };
}

interface AppendHost {
  readonly log: EventLog;
  readonly live: LiveSessions;
  /** Undefined if the runtime was created without events. */
  readonly events: DefinedEvents | undefined;
}

/** @throws TurnlogError `INVALID_INPUT` if the program did not define the event */
function definedIn(
  events: DefinedEvents | undefined,
  type: AppEventType,
  session: string,
): DefinedEvents {
  const known = Object.keys(events?.schemas ?? {});
  if (events !== undefined && known.includes(type)) return events;
  const nearest = nearestName(type, known);
  const advice = !isAppType(type)
    ? "Names of events begin with `app.`: all others are turnlog's own."
    : nearest === undefined
      ? "Define it with `defineEvents`, and pass the definition to `createRuntime({ events })`."
      : `Did you mean ${JSON.stringify(nearest)}?`;
  throw new TurnlogError(
    "INVALID_INPUT",
    `append: this runtime has no event ${JSON.stringify(type)}. ${advice}`,
    { session, details: { option: "type", ...(nearest === undefined ? {} : { nearest }) } },
  );
}
