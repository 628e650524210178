/** The command was called in a way that cannot work, which no look at the store is needed to see. */

/** Ends the process with exit code 2 and its message. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
