/** Errors that every log throws, whatever it is stored in. */

import { TurnlogError } from "../../events/index.ts";

/** `LOG_CLOSED` */
export function closedError(): TurnlogError {
  return new TurnlogError("LOG_CLOSED", "The log is closed. Open the store again to continue.");
}

/** `LOG_DAMAGED`: an event is missing, or its row cannot be read. */
export function damagedAt(
  session: string,
  position: number,
  why: string,
  cause?: unknown,
): TurnlogError {
  return new TurnlogError(
    "LOG_DAMAGED",
    `The log is damaged at ${session}:${position}: ${why}. Stop writing to this store, copy it, and run \`turnlog repair\`.`,
    { session, position, cause },
  );
}

/** A shared event that cannot be read where it is stored. */
export function sharedDamage(
  session: string,
  position: number,
  owner: string,
  why: string,
  cause?: TurnlogError,
): TurnlogError {
  return new TurnlogError(
    cause?.code ?? "LOG_DAMAGED",
    `Session ${session} is a fork and shares its event ${position} with ${owner}, where it cannot be read: ${why}`,
    { session, position, details: { ...cause?.details, owner }, cause },
  );
}

/** Damage of a shared event names the session that was read, and the one that stores the event. */
export function inSession(session: string, error: unknown): unknown {
  if (!TurnlogError.isInstance(error) || error.session === undefined) return error;
  if (error.session === session) return error;
  return sharedDamage(session, error.position ?? 0, error.session, error.message, error);
}

/** `SESSION_DELETED` */
export function deletedError(session: string): TurnlogError {
  return new TurnlogError(
    "SESSION_DELETED",
    `Session ${session} was deleted permanently, and its name cannot be used again. Use another name.`,
    { session },
  );
}

/** Throws for a position that is not a whole number: it has no key. */
export function assertPositions(session: string, values: readonly (number | undefined)[]): void {
  for (const value of values) {
    if (value === undefined || Number.isInteger(value) || value === Number.POSITIVE_INFINITY)
      continue;
    throw new TurnlogError(
      "INVALID_INPUT",
      `Positions and limits are whole numbers, but reading ${session} got ${value}.`,
      { session },
    );
  }
}
