/** The names of events of the user's own program, such as `app.ticket-opened`. Any session may have them. Pure. */

import type { JsonObject } from "../values/json.ts";

/** The name of an event of your program. */
export type AppEventType = `app.${string}`;

/** `app.*`: the events of the user's program. No schema of ours: a log keeps those of programs that are gone. */
export interface AppFamily {
  [type: AppEventType]: JsonObject;
}

export function isAppType(type: string): type is AppEventType {
  return type.startsWith("app.");
}
