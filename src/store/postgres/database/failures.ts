/** Turns errors of the database and the connection into errors of the port. */

import { TurnlogError, type TurnlogErrorCode } from "../../../events/index.ts";

/** SQLSTATE classes: https://www.postgresql.org/docs/15/errcodes-appendix.html */
function codeOf(error: unknown): TurnlogErrorCode {
  const state = sqlState(error) ?? "";
  if (state === "53100") return "LOG_FULL";
  if (state === "25006" || state === "42501") return "LOG_READ_ONLY";
  if (state === "XX001" || state === "XX002") return "LOG_DAMAGED";
  return "LOG_FAILED";
}

/** Five characters if the server answered; undefined if the connection failed. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const { code } = error;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/**
 * Whether a statement may have been committed though it failed: the connection broke, or the server ended
 * it (class 08 and 57P).
 */
export function isUnknownOutcome(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined || state.startsWith("08") || state.startsWith("57P");
}

export function databaseFailure(error: unknown, doing: string): TurnlogError {
  if (TurnlogError.isInstance(error)) return error;
  const why = error instanceof Error ? error.message : String(error);
  const next =
    sqlState(error) === undefined
      ? "Check its address, and that it runs"
      : "Look at the database's log";
  return new TurnlogError(
    codeOf(error),
    `${doing} failed in the database (${why}). ${next}; everything that was acknowledged is kept.`,
    { cause: error },
  );
}
