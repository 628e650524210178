/** Warnings of a runtime: to the user's `onWarning`, else to the process. */

import { TurnlogError } from "../events/index.ts";
import { toStoredError } from "../shared/index.ts";

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

/** The sessions of a store could not be resumed. */
export function asWarning(error: unknown): TurnlogError {
  if (TurnlogError.isInstance(error)) return error;
  return new TurnlogError("LOG_FAILED", "The sessions of the store could not be resumed.", {
    cause: error,
  });
}
