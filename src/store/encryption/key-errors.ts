/** Errors for a missing or a wrong key. */

import { TurnlogError } from "../../events/index.ts";

/** @param session - The session with the encrypted events, if it is known. */
export function keyMissing(session: string | undefined, position?: number): TurnlogError {
  return new TurnlogError(
    "KEY_MISSING",
    `${session === undefined ? "The session" : `Session ${session}`} is encrypted, and its key is missing. Give the keys that it was written with (\`encryption: { keys }\`, \`encryptedLog(log, keys)\`; \`--keys <folder>\` or TURNLOG_KEYS on the command line).`,
    {
      ...(session === undefined ? {} : { session }),
      ...(position === undefined ? {} : { position }),
    },
  );
}

export function keyWrong(session: string, position: number | undefined, why: string): TurnlogError {
  const place = position === undefined ? session : `${session}:${position}`;
  return new TurnlogError(
    "KEY_WRONG",
    `The key of session ${session} does not fit (${place}): ${why}.`,
    position === undefined ? { session } : { session, position },
  );
}
