/** The row that the list of sessions is made of: where a session ends, its times, and its link if it is a fork. */

import { z } from "zod";
import type { ForkPoint } from "../../../events/index.ts";
import { sessionKey } from "./keys.ts";
import { withChecksum, checkedRow } from "./row-checksum.ts";

export interface IndexEntry {
  /** The last position. */
  readonly revision: number;
  /** Of the first event that is the session's own, and of the last. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly link: ForkPoint | undefined;
}

const plain = [z.int().positive(), z.number(), z.number()] as const;
const indexSchema = z.union([
  z.tuple(plain),
  z.tuple([...plain, z.tuple([z.string(), z.int().positive()])]),
]);

/** The stored form. */
export function indexRow(
  session: string,
  { revision, createdAt, updatedAt, link }: IndexEntry,
): { readonly key: string; readonly row: string } {
  const key = sessionKey(session);
  const end = link === undefined ? [] : [[link.session, link.position]];
  return { key, row: withChecksum(key, [revision, createdAt, updatedAt, ...end]) };
}

/** What a row says; undefined when it is not what was written there. */
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

/** What a row says, or what is known of its session where that is further on. */
export function atLeast(
  entry: IndexEntry,
  known: { readonly committed: number; readonly updatedAt: number } | undefined,
): IndexEntry {
  if (known === undefined || known.committed <= entry.revision) return entry;
  return { ...entry, revision: known.committed, updatedAt: known.updatedAt };
}
