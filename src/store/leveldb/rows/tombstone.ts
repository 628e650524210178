/**
 * What is left of a session that was deleted: its name and its last position. The name is never
 * used again: effect ids are made of it, commit records go on naming it, and a message that is sent
 * once more by somebody who knows nothing of the deletion must not begin the session anew.
 */

import { z } from "zod";
import { rowAt, type Database } from "./database.ts";
import { readFailure } from "./failures.ts";
import { tombstoneKey } from "./keys.ts";
import { withChecksum, checkedRow } from "./row-checksum.ts";

const tombstoneSchema = z.tuple([z.int().positive()]);

/** The stored form. */
export function tombstoneRow(
  session: string,
  revision: number,
): { readonly key: string; readonly row: string } {
  const key = tombstoneKey(session);
  return { key, row: withChecksum(key, [revision]) };
}

/** The last position that the session had; undefined when the row is not what was written there. */
export function readTombstone(session: string, row: string): number | undefined {
  return checkedRow(tombstoneKey(session), row, tombstoneSchema)?.[0];
}

/** Whether a session was deleted. That there is a row is enough: an altered one brings nobody back. */
export async function isDeleted(database: Database, session: string): Promise<boolean> {
  try {
    return (await rowAt(database, tombstoneKey(session))) !== undefined;
  } catch (error) {
    throw readFailure(error, session, 0);
  }
}
