/** Fetches the event rows that a commit record names, in global order, and checks them against it. */

import { isIntact } from "../codec.ts";
import { sumOf, type CommitRecord } from "./commit-record.ts";
import { allRows, rowAt, type Database } from "./database.ts";
import type { TurnlogError } from "../errors.ts";
import { damagedAt, readFailure } from "./failures.ts";
import { eventKey, numberOf } from "./keys.ts";
import { eventsIn } from "./event-row.ts";
import { sealOf } from "./sealed-row.ts";

/** One row of a commit, by the positions of its last event. */
export interface PlacedRow {
  readonly position: number;
  readonly session: string;
  readonly seq: number;
  readonly row: string;
}

/** From this many events on a scan is cheaper than single look-ups. */
const SCAN_FROM = 8;

/** @throws TurnlogError `LOG_DAMAGED` when they are not the rows that the batch wrote */
export async function commitRows(database: Database, record: CommitRecord): Promise<PlacedRow[]> {
  const rows = await rowsBySession(database, record);
  const placed: PlacedRow[] = [];
  let position = record.position - 1;
  for (const { session, from, count } of record.runs) {
    const own = rows.get(session);
    let next = from;
    for (let seq = from; seq < from + count; seq++) {
      position++;
      // Of a run of deltas only the last one has a key.
      const row = own?.get(seq);
      if (row === undefined) continue;
      if (seq - eventsIn(row) + 1 > next) throw missing(session, next);
      placed.push({ position, session, seq, row });
      next = seq + 1;
    }
    if (next < from + count) throw missing(session, next);
  }
  if (sumOf(placed.map(({ row }) => sealOf(row))) !== record.sums) throw altered(record, placed);
  return placed;
}

function missing(session: string, seq: number): TurnlogError {
  return damagedAt(session, seq, "the event is missing, though a commit record names it");
}

async function rowsBySession(
  database: Database,
  record: CommitRecord,
): Promise<ReadonlyMap<string, ReadonlyMap<number, string>>> {
  const spans = new Map<string, { from: number; to: number }>();
  for (const { session, from, count } of record.runs) {
    const span = spans.get(session);
    if (span === undefined) spans.set(session, { from, to: from + count - 1 });
    else span.to = from + count - 1;
  }
  const rows = new Map<string, Map<number, string>>();
  const single: { readonly session: string; readonly seq: number }[] = [];
  for (const [session, { from, to }] of spans) {
    const own = new Map<number, string>();
    rows.set(session, own);
    if (to - from + 1 >= SCAN_FROM) await scanInto(database, session, from, to, own);
    else for (let seq = from; seq <= to; seq++) single.push({ session, seq });
  }
  const found = await lookUp(database, single);
  for (const [index, { session, seq }] of single.entries()) {
    const row = found[index];
    if (row !== undefined) rows.get(session)?.set(seq, row);
  }
  return rows;
}

/** Keys are fetched too: a row that is missing must not shift the ones after it. */
async function scanInto(
  database: Database,
  session: string,
  from: number,
  to: number,
  rows: Map<number, string>,
): Promise<void> {
  const { length } = eventKey(session, from);
  try {
    for await (const [key, row] of allRows(database, {
      gte: eventKey(session, from),
      lte: eventKey(session, to),
    })) {
      if (key.length === length) rows.set(numberOf(key), row);
    }
  } catch (error) {
    throw readFailure(error, session, from);
  }
}

async function lookUp(
  database: Database,
  places: readonly { readonly session: string; readonly seq: number }[],
): Promise<(string | undefined)[]> {
  const [first] = places;
  if (first === undefined) return [];
  try {
    const keys = places.map(({ session, seq }) => eventKey(session, seq));
    const rows = await database.getMany(keys);
    return await Promise.all(
      rows.map(async (row, index) => row ?? rowAt(database, keys[index] ?? "")),
    );
  } catch (error) {
    throw readFailure(error, first.session, first.seq);
  }
}

/** Names the row that was altered, where one is: otherwise rows have changed places. */
function altered({ runs, position }: CommitRecord, placed: readonly PlacedRow[]): TurnlogError {
  const row = placed.find((one) => !isIntact(one.row, one));
  if (row !== undefined) return damagedAt(row.session, row.seq, "its checksum does not match");
  const { session, from } = runs[0] ?? { session: "", from: 0 };
  return damagedAt(
    session,
    from,
    `the events of the commit at global position ${position} are not those that it wrote`,
  );
}
