/**
 * The rows that turn a fork into an independent session: copies of the events that it shares with its parent.
 * Events that the parent itself shares stay shared; the fork then branches off that older session.
 */

import { LONGEST_RUN, envelopesIn } from "../../event-rows/index.ts";
import { damagedAt, inSession } from "../../log-rules/log-errors.ts";
import { copiedRows, missingEvent } from "../../log-rules/reading-rules.ts";
import type { ForkPoint } from "../../../events/index.ts";
import { allRows, rowAt, rowsAtOnce } from "../rows/database.ts";
import { indexRow, readIndex } from "../rows/session-rows.ts";
import { eventKey, idKey, numberOf, sessionKey, under, snapshotPrefix } from "../rows/keys.ts";
import { withChecksum, checkedRow, positionsSchema } from "../rows/commit-record.ts";
import type { Head } from "../heads/heads.ts";
import type { OwnedRange } from "../heads/lineage.ts";
import type { SharedSource } from "../read/reading.ts";
import { snapshotIn, snapshotRow } from "../read/snapshots.ts";

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
