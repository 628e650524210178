/** The form of a redacted event: its type stays, placeholders replace its content. Pure. */

import type { NewEvent } from "./catalogue.ts";

export const REDACTED = "[redacted]";

export const REDACTED_FIELD = "redacted";

/**
 * Whether an event was redacted.
 * @example
 * const readable = events.filter((event) => !isRedacted(event));
 */
export function isRedacted({ type, data }: NewEvent): boolean {
  const content: unknown = type === "unknown" ? data.data : data;
  return (
    typeof content === "object" &&
    content !== null &&
    REDACTED_FIELD in content &&
    content[REDACTED_FIELD] === true
  );
}
