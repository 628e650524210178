/** The part of a survey about the order over all sessions: commit records and event ids. */

import { firstLink } from "../../event-rows/index.ts";
import {
  chainStart,
  readCommit,
  sumOfChecksums,
  allRows,
  rowAt,
  type Database,
  eventKey,
  idKey,
  numberOf,
  under,
  checkedRow,
  type SinceMark,
} from "../rows/index.ts";
import { positionsSchema } from "../heads/index.ts";
import { surveyOf, type SessionSurvey } from "./session-survey.ts";

export interface OrderedRun {
  readonly session: string;
  readonly from: number;
  readonly count: number;
}

interface SurveyedOrder {
  readonly order: OrderedRun[];
  readonly broken: number;
}

/**
 * Events that no good record names go before their session's next ones, or to the end. Adds all records
 * to `since`.
 */
export async function surveyOrder(
  database: Database,
  sessions: Map<string, SessionSurvey>,
  deleted: ReadonlyMap<string, unknown>,
  since: SinceMark,
): Promise<SurveyedOrder> {
  const order: OrderedRun[] = [];
  const placed = new Map<string, number>();
  let expected = 1;
  let previous = chainStart.checksum;
  let broken = 0;
  for await (const [key, row] of allRows(database, under("c/"))) {
    const record = readCommit(numberOf(key), row);
    if (record?.position !== expected || record.previous !== previous) broken++;
    if (record === undefined) continue;
    since.add(record);
    expected = record.position + record.count;
    previous = record.checksum;
    const checksums: string[] = [];
    // The record's sum does not cover rows that were merged or deleted later.
    let isMerged = false;
    for (const { session, from, count } of record.ranges) {
      if (deleted.has(session)) {
        // Events of other sessions keep their global positions.
        order.push({ session, from, count });
        isMerged = true;
        continue;
      }
      const survey = surveyOf(sessions, session);
      const last = from + count - 1;
      survey.known = Math.max(survey.known, last);
      if (!placed.has(session)) survey.copied = await copiedBefore(database, session, from, survey);
      const done = placed.get(session) ?? firstPlaced(survey);
      const end = Math.min(last, survey.kept);
      if (from !== done + 1 || end !== last) broken++;
      isMerged ||= touchesMerged(survey, from, end);
      for (let position = from; position <= end; position++)
        checksums.push(survey.checksums.get(position) ?? "");
      if (end <= done) continue;
      order.push({ session, from: done + 1, count: end - done });
      placed.set(session, end);
    }
    if (!isMerged && sumOfChecksums(checksums) !== record.sums) broken++;
  }
  for (const [session, survey] of sessions) {
    const { kept } = survey;
    const done = placed.get(session) ?? firstPlaced(survey);
    if (kept <= done) continue;
    broken++;
    order.push({ session, from: done + 1, count: kept - done });
  }
  return { order, broken };
}

/** The position before the first one in the commit records. */
function firstPlaced({ link, copied }: SessionSurvey): number {
  return Math.max(link?.position ?? 0, copied);
}

/** A fork that outlived its parent has copies of the shared events. Records name only its own events. */
async function copiedBefore(
  database: Database,
  session: string,
  from: number,
  { kept, link }: SessionSurvey,
): Promise<number> {
  if (from <= (link?.position ?? 0) + 1 || from > kept) return 0;
  const row = await rowAt(database, eventKey(session, from));
  return row === undefined || firstLink(row, { session, position: from }) === undefined
    ? 0
    : from - 1;
}

function touchesMerged({ merged }: SessionSurvey, from: number, to: number): boolean {
  const before = lowerBound(merged, from);
  const row = merged[before];
  return row !== undefined && row.from <= to;
}

/** The index of the first row that ends at or behind a position. */
function lowerBound(rows: SessionSurvey["merged"], position: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.to ?? 0) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The positions of each event with an id, by the key of its row. */
export function idPlaces(
  sessions: ReadonlyMap<string, SessionSurvey>,
  order: readonly OrderedRun[],
): Map<string, IdPlace> {
  const places = new Map<string, IdPlace>();
  const next = new Map<string, number>();
  let position = 0;
  for (const { session, from, count } of order) {
    const ids = sessions.get(session)?.ids ?? [];
    let index = next.get(session) ?? 0;
    for (let found = ids[index]; found !== undefined; found = ids[++index]) {
      if (found.position >= from + count) break;
      // A copy keeps the global position of its original, which is unknown here.
      const isCopied = found.position < from;
      const place = position + (isCopied ? 1 : found.position - from + 1);
      places.set(idKey(session, found.id), { place: [found.position, place], isCopied });
    }
    next.set(session, index);
    position += count;
  }
  return places;
}

interface IdPlace {
  readonly place: readonly [position: number, position: number];
  readonly isCopied: boolean;
}

export async function surveyIds(
  database: Database,
  sessions: ReadonlyMap<string, SessionSurvey>,
  order: readonly OrderedRun[],
  findings: string[],
): Promise<void> {
  const places = idPlaces(sessions, order);
  let wrong = 0;
  for await (const [key, row] of allRows(database, under("i/"))) {
    const expected = places.get(key);
    const stored = checkedRow(key, row, positionsSchema);
    const [position, globalPosition] = expected?.place ?? [];
    const isRight = expected?.isCopied === true || stored?.[1] === globalPosition;
    if (stored === undefined || stored[0] !== position || !isRight) wrong++;
    else places.delete(key);
  }
  wrong += places.size;
  if (wrong > 0) findings.push(`${wrong} rows of event ids are missing or do not fit`);
}
