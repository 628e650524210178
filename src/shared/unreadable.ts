/** The error of a value that throws when it is read, as a proxy may. */

import { TurnlogError } from "../events/index.ts";
import { toStoredError } from "./json-value.ts";

export function unreadable(what: string, error: unknown, session?: string): TurnlogError {
  const { message } = toStoredError(error);
  return new TurnlogError(
    "INVALID_INPUT",
    `${what} cannot be read: reading it throws (${message}).`,
    session === undefined ? {} : { session },
  );
}
