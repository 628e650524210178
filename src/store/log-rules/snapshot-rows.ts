/** Snapshots as text with a checksum. A snapshot is a cache: one that cannot be read counts as missing. */

import { z } from "zod";
import {
  checksum,
  CHECKSUM_LENGTH,
  isIntact,
  jsonSchema,
  type Snapshot,
} from "../../events/index.ts";

const snapshotSchema = z.object({
  projection: z.string(),
  version: z.number(),
  position: z.int().nonnegative(),
  state: jsonSchema,
});

/** Not of a session: a fork may get the row of its source. */
const place = { session: "", position: 0 };

/** The text to store. */
export function snapshotRow(snapshot: Snapshot): string {
  const json = JSON.stringify(snapshot);
  return checksum(json, place) + json;
}

/** The snapshot of a stored text; undefined if the text is damaged. */
export function snapshotIn(row: string): Snapshot | undefined {
  return isIntact(row, place) ? parsedSnapshot(row.slice(CHECKSUM_LENGTH)) : undefined;
}

/** The snapshot of JSON without a checksum. */
export function parsedSnapshot(json: string): Snapshot | undefined {
  try {
    return snapshotSchema.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}
