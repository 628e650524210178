/**
 * The row of a session in the list: last position, times and a fork's link. After its deletion a
 * tombstone remains, with the last position. The name is never used again: effect ids contain it,
 * commit records name it, and a late message to it must not begin a new session.
 */

import { damagedAt } from "../../log-rules/log-errors.ts";
import {
  defined,
  jsonSchema,
  type DeletedSession,
  type ForkPoint,
  type SessionEntry,
} from "../../../events/index.ts";
import { z } from "zod";
import { allRows, rowAt, type RowStore } from "./row-store.ts";
import { readFailure } from "./failures.ts";
import { sessionIn, sessionKey, tombstoneKey } from "./keys.ts";
import { withChecksum, checkedRow, type CommitRecord } from "./commit-record.ts";

export interface IndexEntry {
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

interface NewerEnd {
  readonly committed: number;
  readonly updatedAt: number;
}

export function atLeast(entry: IndexEntry, known: NewerEnd | undefined): IndexEntry {
  if (known === undefined || known.committed <= entry.revision) return entry;
  return { ...entry, revision: known.committed, updatedAt: known.updatedAt };
}

/** The session's last position, and the name of the person who deleted it. */
const tombstoneSchema = z.tuple([z.int().positive(), z.string().nullish(), jsonSchema.optional()]);

type Tombstone = Omit<DeletedSession, "session">;

export function tombstoneRow(
  session: string,
  { revision, by, spent }: Tombstone,
): { readonly key: string; readonly row: string } {
  const key = tombstoneKey(session);
  const told = by === undefined ? [revision] : [revision, by];
  return {
    key,
    row: withChecksum(key, spent === undefined ? told : [revision, by ?? null, spent]),
  };
}

/** Undefined if the row is damaged. */
export function readTombstone(session: string, row: string): Tombstone | undefined {
  const stored = checkedRow(tombstoneKey(session), row, tombstoneSchema);
  if (stored === undefined) return undefined;
  const [revision, by, spent] = stored;
  return { revision, ...defined({ by: by ?? undefined, spent }) };
}

/** Whether a session was deleted. A damaged tombstone counts too: it brings no session back. */
export async function isDeleted(database: RowStore, session: string): Promise<boolean> {
  try {
    return (await rowAt(database, tombstoneKey(session))) !== undefined;
  } catch (error) {
    throw readFailure(error, session, 0);
  }
}

/** The sessions in the order of their segments. Without `behind`, each session ends where its index row says. */
export async function* listSessions(
  database: RowStore,
  prefix: string,
  behind?: ReadonlyMap<string, NewerEnd>,
): AsyncGenerator<SessionEntry> {
  let last = prefix;
  try {
    // No segment contains a character above `z`.
    for await (const [key, row] of allRows(database, {
      gte: sessionKey(prefix),
      lt: `${sessionKey(prefix)}~`,
    })) {
      last = sessionIn(key);
      const entry = readIndex(last, row);
      if (entry === undefined) throw damagedAt(last, 0, "its index row is altered");
      const { link, ...rest } = atLeast(entry, behind?.get(last));
      yield { session: last, ...rest, ...(link === undefined ? {} : { forkedFrom: link }) };
    }
  } catch (error) {
    throw readFailure(error, last, 0);
  }
}

// What commits behind a mark wrote, by session. Index rows are complete up to the mark, but may not
// count these events yet: code that reads index rows without the log's memory asks here.

interface Written {
  readonly from: number;
  readonly to: number;
}

export class SinceMark {
  readonly #mark: number;
  readonly #sessions = new Map<string, { readonly from: number; to: number }>();

  /** @param mark - A global position at which a record ends. */
  constructor(mark: number) {
    this.#mark = mark;
  }

  add({ position, ranges }: Pick<CommitRecord, "position" | "ranges">): void {
    if (position <= this.#mark) return;
    for (const { session, from, count } of ranges) {
      const known = this.#sessions.get(session);
      if (known === undefined) this.#sessions.set(session, { from, to: from + count - 1 });
      else known.to = from + count - 1;
    }
  }

  /** What was written of a session; undefined if its row has to be complete. */
  of(session: string): Written | undefined {
    return this.#sessions.get(session);
  }

  get sessions(): readonly string[] {
    return [...this.#sessions.keys()];
  }

  /** Whether a row is behind, but no older than the mark allows. */
  isBehind(session: string, { revision }: Pick<IndexEntry, "revision">): boolean {
    const written = this.#sessions.get(session);
    return written !== undefined && revision >= written.from - 1 && revision < written.to;
  }

  /** The row as it should be. `updatedAt` is the time of the last event, if known. */
  caughtUp(session: string, entry: IndexEntry, updatedAt: number = entry.updatedAt): IndexEntry {
    const revision = this.#sessions.get(session)?.to;
    if (revision === undefined || !this.isBehind(session, entry)) return entry;
    return { ...entry, revision, updatedAt };
  }
}
