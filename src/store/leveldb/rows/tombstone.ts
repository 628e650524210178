/**
 * The remains of a deleted session: its name and last position. The name is never used again:
 * effect ids contain it, commit records name it, and a late message to it must not begin a new
 * session.
 */

import { z } from "zod";
import { rowAt, type Database } from "./database.ts";
import { readFailure } from "./failures.ts";
import { tombstoneKey } from "./keys.ts";
import { withChecksum, checkedRow } from "./row-checksum.ts";

const tombstoneSchema = z.tuple([z.int().positive()]);

export function tombstoneRow(
  session: string,
  revision: number,
): { readonly key: string; readonly row: string } {
  const key = tombstoneKey(session);
  return { key, row: withChecksum(key, [revision]) };
}

/** The session's last position; undefined if the row is damaged. */
export function readTombstone(session: string, row: string): number | undefined {
  return checkedRow(tombstoneKey(session), row, tombstoneSchema)?.[0];
}

/** Whether a session was deleted. A damaged tombstone counts too: it brings no session back. */
export async function isDeleted(database: Database, session: string): Promise<boolean> {
  try {
    return (await rowAt(database, tombstoneKey(session))) !== undefined;
  } catch (error) {
    throw readFailure(error, session, 0);
  }
}
