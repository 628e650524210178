/** Snapshots as text. A snapshot is a cache: one that cannot be read counts as missing. */

import type { Snapshot } from "../../events/index.ts";

/** The snapshot of a stored text; undefined if the text is damaged. */
export function parsedSnapshot(json: string): Snapshot | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isSnapshot(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Written by hand: opening a session reads a few, and a zod schema costs more at its first use. */
export function isSnapshot(value: unknown): value is Snapshot {
  return (
    typeof value === "object" &&
    value !== null &&
    "projection" in value &&
    typeof value.projection === "string" &&
    "version" in value &&
    typeof value.version === "number" &&
    "position" in value &&
    Number.isSafeInteger(value.position) &&
    Number(value.position) >= 0 &&
    "state" in value &&
    value.state !== undefined
  );
}
