/** How an event reads whose content is gone: as one of its type, with placeholders. Pure. */

import type { NewEvent } from "./catalogue.ts";

/** What is read where a text was redacted. */
export const REDACTED = "[redacted]";

/** The field of an event's data that says so. */
export const REDACTED_FIELD = "redacted";

/** Whether what an event said is gone, and it reads as if it had said nothing. */
export function isRedacted({ type, data }: NewEvent): boolean {
  const said: unknown = type === "unknown" ? data.data : data;
  return (
    typeof said === "object" &&
    said !== null &&
    REDACTED_FIELD in said &&
    said[REDACTED_FIELD] === true
  );
}
