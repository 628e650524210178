/** Warnings of a runtime: to the user's `onWarning`, else to the process. */

import { isElsewhere, TurnlogError } from "../../events/index.ts";
import { toStoredError } from "../../shared/index.ts";

export function warningsTo(
  onWarning: ((error: TurnlogError) => void) | undefined,
): (error: TurnlogError) => void {
  return (error) => {
    try {
      if (onWarning !== undefined) return onWarning(error);
    } catch (thrown) {
      // An error of the callback must not fail what it reports on.
      process.emitWarning(`\`onWarning\` threw: ${toStoredError(thrown).message}`);
    }
    process.emitWarning(error);
  };
}

/** @param what - What could not be done, for errors of others. */
export function asWarning(error: unknown, what: string): TurnlogError {
  if (TurnlogError.isInstance(error)) return error;
  return new TurnlogError("LOG_FAILED", what, { cause: error });
}

/** Tells of sessions that could not be closed. One that another process has taken ends there. */
export function warnOfFailed(
  closings: readonly PromiseSettledResult<unknown>[],
  onWarning: (error: TurnlogError) => void,
): void {
  for (const one of closings)
    if (one.status === "rejected" && !isElsewhere(one.reason))
      onWarning(asWarning(one.reason, "A session could not be closed."));
}
