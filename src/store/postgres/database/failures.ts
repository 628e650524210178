/** Turns errors of the database and the connection into errors of the port. */

import { TurnlogError, type TurnlogErrorCode } from "../../../events/index.ts";

/** What the driver threw, as an error of the port. `pg-client.ts` lets no other error of the driver out. */
class DatabaseError extends TurnlogError {}

/** SQLSTATE classes: https://www.postgresql.org/docs/15/errcodes-appendix.html */
function codeOf(state: string | undefined): TurnlogErrorCode {
  if (state === "53100") return "LOG_FULL";
  if (state === "25006" || state === "42501") return "LOG_READ_ONLY";
  if (state === "XX001" || state === "XX002") return "LOG_DAMAGED";
  return "LOG_FAILED";
}

/** Five characters if the server answered; undefined if the connection failed. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof DatabaseError ? stateIn(error.cause) : undefined;
}

/**
 * Whether a statement may have been committed though it failed: the connection broke, or the server ended
 * it (class 08 and 57P).
 */
export function isUnknownOutcome(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  const state = sqlState(error);
  return state === undefined || state.startsWith("08") || state.startsWith("57P");
}

/** Wraps what the driver threw. */
export function driverFailure(error: unknown, doing = "A statement"): DatabaseError {
  const state = stateIn(error);
  const next =
    state === undefined
      ? "Check its address, and that it is running"
      : "Look at the database's log";
  return new DatabaseError(
    codeOf(state),
    `${doing} failed in the database (${reason(error)}). ${next}; all acknowledged events are kept.`,
    { cause: error },
  );
}

/** The error with what was being done, if it comes from the database; any other error as it is. */
export function databaseFailure(error: unknown, doing: string): unknown {
  return error instanceof DatabaseError ? driverFailure(error.cause, doing) : error;
}

function stateIn(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const { code } = error;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** A host with several addresses is refused with an error of no message, which has those of each address. */
function reason(error: unknown): string {
  if (error instanceof AggregateError && error.message === "")
    return [...new Set(error.errors.map(reason))].join(", ");
  return error instanceof Error ? error.message : String(error);
}
