/** The index row of a session, for the list of sessions: last position, times, and a fork's link. */

import { z } from "zod";
import type { ForkPoint } from "../../../events/index.ts";
import { sessionKey } from "./keys.ts";
import { withChecksum, checkedRow } from "./row-checksum.ts";

export interface IndexEntry {
  /** The last position. */
  readonly revision: number;
  /** The times of the first event that the session owns, and of the last. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly link: ForkPoint | undefined;
}

const plain = [z.int().positive(), z.number(), z.number()] as const;
const indexSchema = z.union([
  z.tuple(plain),
  z.tuple([...plain, z.tuple([z.string(), z.int().positive()])]),
]);

export function indexRow(
  session: string,
  { revision, createdAt, updatedAt, link }: IndexEntry,
): { readonly key: string; readonly row: string } {
  const key = sessionKey(session);
  const end = link === undefined ? [] : [[link.session, link.position]];
  return { key, row: withChecksum(key, [revision, createdAt, updatedAt, ...end]) };
}

/** The content of a row; undefined if it is damaged. */
export function readIndex(session: string, row: string): IndexEntry | undefined {
  const stored = checkedRow(sessionKey(session), row, indexSchema);
  if (stored === undefined) return undefined;
  const [revision, createdAt, updatedAt, link] = stored;
  return {
    revision,
    createdAt,
    updatedAt,
    link: link === undefined ? undefined : { session: link[0], position: link[1] },
  };
}

/** The row's content, or what memory knows of the session if that is newer. */
export function atLeast(
  entry: IndexEntry,
  known: { readonly committed: number; readonly updatedAt: number } | undefined,
): IndexEntry {
  if (known === undefined || known.committed <= entry.revision) return entry;
  return { ...entry, revision: known.committed, updatedAt: known.updatedAt };
}
