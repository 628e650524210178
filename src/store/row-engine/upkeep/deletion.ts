/**
 * Deletes sessions: one write removes all rows and leaves a tombstone. Before it, forks block the
 * deletion, or each gets its own copies by a separate write.
 */

import {
  defined,
  type Deleted,
  type DeletedSession,
  type DeleteOptions,
  type ForkPoint,
} from "../../../events/index.ts";
import { LONGEST_RUN, envelopesIn } from "../../event-rows/index.ts";
import { checkDeletion } from "../../log-rules/append-rules.ts";
import { damagedAt, deletedError, inSession } from "../../log-rules/log-errors.ts";
import { copiedRows, missingEvent } from "../../log-rules/reading-rules.ts";
import type { Head, Heads } from "../heads/heads.ts";
import type { OwnedRange } from "../heads/lineage.ts";
import type { SharedSource } from "../read/reading.ts";
import { snapshotIn, snapshotRow } from "../read/snapshots.ts";
import { withChecksum, checkedRow, positionsSchema } from "../rows/commit-record.ts";
import { allRows, rowAt, rowsAtOnce } from "../rows/row-store.ts";
import { readFailure } from "../rows/failures.ts";
import {
  rangesOf,
  sessionKey,
  tombstoneKey,
  under,
  sessionIn,
  eventKey,
  idKey,
  numberOf,
  snapshotPrefix,
} from "../rows/keys.ts";
import {
  listSessions,
  readTombstone,
  tombstoneRow,
  indexRow,
  readIndex,
} from "../rows/session-rows.ts";
import type { Appender } from "../write/appender.ts";
import type { Committer } from "../write/committer.ts";
import type { Erasure } from "./erasure.ts";

export interface DeletionOptions {
  readonly source: SharedSource;
  readonly heads: Heads;
  readonly committer: Committer;
  readonly appender: Appender;
  readonly erasure: Erasure;
}

export class Deletion {
  readonly #options: DeletionOptions;

  constructor(options: DeletionOptions) {
    this.#options = options;
  }

  /** @throws TurnlogError as `EventLog.delete` */
  async delete(session: string, { forks = "refuse", by, spent }: DeleteOptions): Promise<Deleted> {
    const { heads, appender, erasure } = this.#options;
    const head = heads.of(session);
    const done = await appender.alone(head, async () => {
      if (head.isDeleted)
        return { revision: await this.#revisionOf(session), forks: [], repeated: true };
      checkDeletion(head, [], forks);
      head.isLocked = true;
      try {
        return await this.#deleteAlone(head, forks, defined({ by, spent }));
      } finally {
        head.isLocked = false;
      }
    });
    return { session, ...done, erased: await erasure.erase(session) };
  }

  async *deleted(): AsyncGenerator<DeletedSession> {
    const { database } = this.#options.source;
    try {
      for await (const [key, row] of allRows(database, under("d/"))) {
        const session = sessionIn(key);
        yield { session, ...tombstoneIn(session, row) };
      }
    } catch (error) {
      throw readFailure(error, "deleted sessions", 0);
    }
  }

  /** During it nothing is appended to the session and no fork begins. */
  async #deleteAlone(
    head: Head,
    mode: "refuse" | "copy",
    told: Pick<DeletedSession, "by" | "spent">,
  ): Promise<Pick<Deleted, "revision" | "forks" | "repeated">> {
    const { committer, erasure, source } = this.#options;
    const { session, revision } = head;
    // The scans below must find everything that was queued before.
    await committer.caughtUp();
    const forks = await this.#forksOf(session);
    checkDeletion(head, forks, mode);
    for (const fork of forks) await this.#makeIndependent(fork, session);
    const keys: string[] = [sessionKey(session)];
    for (const range of rangesOf(session)) {
      for await (const [key] of allRows(source.database, under(range))) keys.push(key);
    }
    committer.assertUsable(head);
    await committer.write((rows) => {
      for (const key of keys) rows.del(key);
      const { key, row } = tombstoneRow(session, { revision, ...told });
      rows.put(key, row);
      const note = erasure.note(session);
      if (note !== undefined) rows.put(...note);
    });
    const { tail } = head;
    Object.assign(head, { isDeleted: true, revision: 0, committed: 0, link: undefined });
    tail?.fail(deletedError(session));
    return { revision, forks, repeated: false };
  }

  async #forksOf(session: string): Promise<readonly string[]> {
    const forks: string[] = [];
    for await (const entry of listSessions(this.#options.source.database, ""))
      if (entry.forkedFrom?.session === session) forks.push(entry.session);
    return forks;
  }

  async #makeIndependent(fork: string, from: string): Promise<void> {
    const { heads, committer, appender, source } = this.#options;
    const head = heads.of(fork);
    await appender.alone(head, async () => {
      // It may have been deleted while this waited for it.
      if (head.isDeleted || head.link?.session !== from) return;
      await committer.caughtUp();
      const { rows, link, createdAt } = await forkCopy(source, head);
      committer.assertUsable(head);
      await committer.write((batch) => {
        for (const [key, row] of rows) batch.put(key, row);
      });
      Object.assign(head, { link, createdAt });
    });
  }

  async #revisionOf(session: string): Promise<number> {
    const row = await rowAt(this.#options.source.database, tombstoneKey(session));
    return row === undefined ? 0 : tombstoneIn(session, row).revision;
  }
}

function tombstoneIn(session: string, row: string): Omit<DeletedSession, "session"> {
  const tombstone = readTombstone(session, row);
  if (tombstone === undefined) throw damagedAt(session, 0, "the row of its deletion is altered");
  return tombstone;
}

// The rows that turn a fork into an independent session: copies of the events that it shares with its parent. Events
// that the parent itself shares stay shared; the fork then branches off that older session.

type KeyedRow = readonly [key: string, row: string];

export interface ForkCopy {
  readonly rows: readonly KeyedRow[];
  /** The session that the fork branches off from now on, if any. */
  readonly link: ForkPoint | undefined;
  /** The time of the first event that the fork owns from now on. */
  readonly createdAt: number;
}

/** Reads the events that a fork shares with the owner of its last shared event. */
export async function forkCopy(
  source: SharedSource,
  { session, link }: Pick<Head, "session" | "link">,
): Promise<ForkCopy> {
  const { database } = source;
  const { range, before } = await lastShared(source, session, link);
  const index = await rowAt(database, sessionKey(session));
  const entry = index === undefined ? undefined : readIndex(session, index);
  if (entry === undefined) throw damagedAt(session, 0, "its index row is missing or altered");
  const rows: KeyedRow[] = [];
  let { createdAt } = entry;
  let next = range.from;
  try {
    for await (const { position, row } of ownRows(source, session, range)) {
      const events = envelopesIn(row, { session, position });
      if (next === range.from) createdAt = events[0]?.time ?? createdAt;
      rows.push([eventKey(session, position), row]);
      for (const { id } of events)
        if (id !== undefined)
          rows.push(await idRow(source, session, range.owner, { id, position }));
      next = position + 1;
    }
    if (next !== range.to + 1) throw missingEvent(range.owner, next);
  } catch (error) {
    throw inSession(session, error);
  }
  for await (const row of snapshotRows(source, session, range)) rows.push(row);
  const { key, row } = indexRow(session, { ...entry, createdAt, link: before });
  return { rows: [...rows, [key, row]], link: before, createdAt };
}

/** The range with the last shared event, and where its owner branches off. */
async function lastShared(
  { lineage }: SharedSource,
  session: string,
  link: ForkPoint | undefined,
): Promise<{ readonly range: OwnedRange; readonly before: ForkPoint | undefined }> {
  let last: OwnedRange | undefined;
  for await (const range of lineage.of(session, link, link?.position)) {
    if (last !== undefined)
      return { range: last, before: { session: range.owner, position: last.from - 1 } };
    if (range.owner !== session && range.from <= range.to) last = range;
  }
  if (last === undefined) throw damagedAt(session, 0, "it branches off nothing");
  return { range: last, before: undefined };
}

/** The rows of a range under the fork's name. */
async function* ownRows({ database, codec }: SharedSource, fork: string, range: OwnedRange) {
  const { owner: session, from, to } = range;
  let next = from;
  // Rows may be merged in the meantime.
  for await (const [key, row] of rowsAtOnce(database, {
    gte: eventKey(session, from),
    lte: eventKey(session, to + LONGEST_RUN - 1),
  })) {
    const position = numberOf(key);
    yield* copiedRows(codec, { session, position }, row, fork, next, to);
    if (position >= to) return;
    next = position + 1;
  }
}

/** The copy of an event's id row. The event keeps its global position. */
async function idRow(
  { database }: SharedSource,
  session: string,
  owner: string,
  { id, position }: { readonly id: string; readonly position: number },
): Promise<KeyedRow> {
  const stored = await rowAt(database, idKey(owner, id));
  const place =
    stored === undefined ? undefined : checkedRow(idKey(owner, id), stored, positionsSchema);
  if (place === undefined)
    throw damagedAt(owner, position, `the row of event id ${JSON.stringify(id)} is altered`);
  const key = idKey(session, id);
  return [key, withChecksum(key, place)];
}

/** Snapshots of shared events, for projections of which the fork has no snapshot. */
async function* snapshotRows(
  { database }: SharedSource,
  session: string,
  { owner, to }: OwnedRange,
): AsyncGenerator<KeyedRow> {
  for await (const [key, row] of allRows(database, under(snapshotPrefix(owner)))) {
    const found = snapshotIn(key, row)?.snapshot;
    if (found === undefined || found.position > to) continue;
    const copy = snapshotRow(session, found);
    if ((await rowAt(database, copy.key)) === undefined) yield [copy.key, copy.row];
  }
}
