/** Snapshots are a cache: one that cannot be read counts as none. */

import { z } from "zod";
import type { Snapshot } from "../event-log.ts";
import { jsonSchema } from "../json.ts";
import type { Database } from "./database.ts";
import { readFailure } from "./failures.ts";
import { snapshotKey } from "./keys.ts";
import { seal, unseal } from "./sealed-row.ts";

const snapshotSchema: z.ZodType<Snapshot> = z.object({
  projection: z.string(),
  version: z.number(),
  position: z.int().nonnegative(),
  state: jsonSchema,
});

/** The row of a snapshot. */
export function snapshotRow(
  session: string,
  snapshot: Snapshot,
): { readonly key: string; readonly row: string } {
  const key = snapshotKey(session, snapshot.projection);
  return { key, row: seal(key, snapshot) };
}

/** The snapshot in a row, with whose it is; undefined when it is not what was written there. */
export function snapshotIn(
  key: string,
  row: string,
): { readonly session: string; readonly snapshot: Snapshot } | undefined {
  const session = key.slice(2, key.indexOf("/", 2));
  const snapshot = unseal(key, row, snapshotSchema);
  const fits = snapshot !== undefined && key === snapshotKey(session, snapshot.projection);
  return fits ? { session, snapshot } : undefined;
}

/** The stored snapshot, unless it is damaged or of events that the session does not have. */
export async function readSnapshot(
  database: Database,
  session: string,
  projection: string,
  revision: number,
): Promise<Snapshot | undefined> {
  const key = snapshotKey(session, projection);
  let row: string | undefined;
  try {
    row = await database.get(key);
  } catch (error) {
    throw readFailure(error, session, revision);
  }
  const snapshot = row === undefined ? undefined : unseal(key, row, snapshotSchema);
  return snapshot === undefined || snapshot.position > revision ? undefined : snapshot;
}
