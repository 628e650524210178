/** Fetches the event rows that a commit record names, in global order, and checks them against it. */

import { LONGEST_RUN, eventsIn, isMergedRow } from "../../event-rows/index.ts";
import { damagedAt } from "../../log-rules/log-errors.ts";
import { isIntact, type TurnlogError } from "../../../events/index.ts";
import { sumOfChecksums, type CommitRecord, checksumOf } from "./commit-record.ts";
import { allRows, type RowStore } from "./row-store.ts";
import { readFailure } from "./failures.ts";
import { eventKey, numberOf } from "./keys.ts";
import { isDeleted } from "./session-rows.ts";

export interface PlacedRow {
  /** The global position of `from`. */
  readonly globalPosition: number;
  readonly session: string;
  /** The positions that the commit wrote, both included. */
  readonly from: number;
  readonly to: number;
  readonly position: number;
  readonly row: string;
}

/** A session's rows by the positions in their keys, ascending. */
type Rows = readonly (readonly [position: number, row: string])[];

/** From this many events on a scan is cheaper than single look-ups. */
const SCAN_FROM = 8;

/**
 * Leaves out deleted sessions; `deleted`: those that are known to be.
 * @throws TurnlogError `LOG_DAMAGED` when the rows are not those that the batch wrote
 */
export async function commitRows(
  database: RowStore,
  record: CommitRecord,
  deleted: Set<string>,
): Promise<PlacedRow[]> {
  const placed = await placedRows(database, record, deleted);
  // The sum does not cover rows that were merged or deleted later; each row has its own checksum.
  const isMerged = placed.some(({ row }) => isMergedRow(row));
  const isWhole = record.ranges.every(({ session }) => !deleted.has(session));
  if (
    !isMerged &&
    isWhole &&
    sumOfChecksums(placed.map(({ row }) => checksumOf(row))) !== record.sums
  )
    throw altered(record, placed);
  return placed;
}

/** As {@link commitRows}, without looking at the sum. */
export async function placedRows(
  database: RowStore,
  record: Pick<CommitRecord, "position" | "ranges">,
  deleted: Set<string>,
): Promise<PlacedRow[]> {
  const rows = await rowsBySession(database, record, deleted);
  const indexes = new Map<string, number>();
  const placed: PlacedRow[] = [];
  let { position: globalPosition } = record;
  for (const { session, from, count } of record.ranges) {
    if (deleted.has(session)) {
      globalPosition += count;
      continue;
    }
    const own = rows.get(session) ?? [];
    let index = indexes.get(session) ?? 0;
    let next = from;
    while (next < from + count) {
      const [position, row] = own[index] ?? [0, ""];
      if (position < next || position - eventsIn(row) + 1 > next) {
        if (!(await isDeleted(database, session))) throw missing(session, next);
        deleted.add(session);
        return await placedRows(database, record, deleted);
      }
      const to = Math.min(position, from + count - 1);
      placed.push({ globalPosition, session, from: next, to, position, row });
      globalPosition += to - next + 1;
      next = to + 1;
      if (to === position) index++;
    }
    indexes.set(session, index);
  }
  return placed;
}

function missing(session: string, position: number): TurnlogError {
  return damagedAt(session, position, "the event is missing, though a commit record names it");
}

async function rowsBySession(
  database: RowStore,
  record: Pick<CommitRecord, "ranges">,
  deleted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Rows>> {
  const spans = new Map<string, { from: number; to: number }>();
  for (const { session, from, count } of record.ranges) {
    if (deleted.has(session)) continue;
    const span = spans.get(session);
    if (span === undefined) spans.set(session, { from, to: from + count - 1 });
    else span.to = from + count - 1;
  }
  const rows = new Map<string, Rows>();
  for (const [session, { from, to }] of spans) {
    const isShort = to - from + 1 < SCAN_FROM;
    const found = isShort ? await lookUp(database, session, from, to) : undefined;
    rows.set(session, found ?? (await scan(database, session, from, to)));
  }
  return rows;
}

/** Fetches keys too: a missing row must not shift the later ones. */
async function scan(database: RowStore, session: string, from: number, to: number): Promise<Rows> {
  const rows: [number, string][] = [];
  const { length } = eventKey(session, from);
  try {
    for await (const [key, row] of allRows(database, {
      gte: eventKey(session, from),
      // The last event may be part of a run, whose key has the run's last position.
      lte: eventKey(session, to + LONGEST_RUN - 1),
      // Each row has at least one of them.
      limit: to - from + 1,
    })) {
      if (key.length !== length) continue;
      rows.push([numberOf(key), row]);
      if (numberOf(key) >= to) break;
    }
  } catch (error) {
    throw readFailure(error, session, from);
  }
  return rows;
}

/** Fetches rows by key; undefined if one is missing under its own key. */
async function lookUp(
  database: RowStore,
  session: string,
  from: number,
  to: number,
): Promise<Rows | undefined> {
  const keys = Array.from({ length: to - from + 1 }, (_, index) => eventKey(session, from + index));
  try {
    const found = await database.getMany(keys);
    const rows: [number, string][] = [];
    for (const [index, row] of found.entries()) {
      if (row !== undefined) rows.push([from + index, row]);
    }
    return rows.length === keys.length ? rows : undefined;
  } catch (error) {
    throw readFailure(error, session, from);
  }
}

/** Names the altered row; if all rows are intact, their order was changed. */
function altered({ ranges, position }: CommitRecord, placed: readonly PlacedRow[]): TurnlogError {
  const row = placed.find((one) => !isIntact(one.row, one));
  if (row !== undefined) return damagedAt(row.session, row.position, "its checksum does not match");
  const { session, from } = ranges[0] ?? { session: "", from: 0 };
  return damagedAt(
    session,
    from,
    `the events of the commit at global position ${position} are not those that it wrote`,
  );
}
