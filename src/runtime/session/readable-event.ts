/** Checks that the log can read each event, before it is recorded. Deltas, most of all events, take a short path. */

import { z } from "zod";
import { eventSchemas, isAppType, TurnlogError, type SessionEvent } from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";

/** @throws TurnlogError `EVENT_INVALID` if the event could not be read again */
export function assertReadable(session: string, { position, type, data }: SessionEvent): void {
  switch (type) {
    case "unknown":
      return;
    case "part.text-delta":
    case "part.reasoning-delta":
      if (typeof data.id === "string" && typeof data.text === "string") return;
      break;
    case "part.tool-input-delta":
      if (typeof data.id === "string" && typeof data.delta === "string") return;
      break;
    default:
  }
  // `append` has checked it.
  if (isAppType(type)) return;
  const schema: z.ZodType = eventSchemas[type];
  if (schema.safeParse(data).success) return;
  // JSON drops undefined fields.
  const stored = schema.safeParse(toJson(data));
  if (stored.success) return;
  throw new TurnlogError(
    "EVENT_INVALID",
    `An event of type ${type} was not recorded in session ${session}, as it could not be read again: ${z.prettifyError(stored.error)}`,
    { session, position, cause: stored.error },
  );
}
