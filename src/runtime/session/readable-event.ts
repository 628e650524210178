/** Checks that the log can read each event, before it is recorded. Deltas, most of all events, take a short path. */

import { z } from "zod";
import { eventSchemas, isAppType, TurnlogError, type SessionEvent } from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";

/** Compiling a schema is for a type that keeps coming; most come once or twice before the first call. */
const COMPILED_AFTER = 20;
const checks = new Map<string, number>();

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
  const before = checks.get(type) ?? 0;
  checks.set(type, before + 1);
  if (schema.safeParse(data, { jitless: before < COMPILED_AFTER }).success) return;
  // JSON drops undefined fields.
  const stored = schema.safeParse(toJson(data), { jitless: true });
  if (stored.success) return;
  throw new TurnlogError(
    "EVENT_INVALID",
    `An event of type ${type} was not recorded in session ${session}, as it could not be read again: ${z.prettifyError(stored.error)}`,
    { session, position, cause: stored.error },
  );
}
