/** The part of a survey that looks at the order over all sessions: commit records and event ids. */

import { chainStart, readCommit, sumOf } from "../commit-record.ts";
import { allRows, type Database } from "../database.ts";
import { placeSchema } from "../event-ids.ts";
import { idKey, numberOf, under } from "../keys.ts";
import { unseal } from "../sealed-row.ts";
import { surveyed, type SessionSurvey } from "./session-survey.ts";

/** Events of a session that follow each other directly in the global order. */
export interface OrderedRun {
  readonly session: string;
  readonly count: number;
}

/** Events that no good commit record names go before the next ones of their session, or to the end. */
export async function surveyOrder(
  database: Database,
  sessions: Map<string, SessionSurvey>,
  findings: string[],
): Promise<OrderedRun[]> {
  const order: OrderedRun[] = [];
  const placed = new Map<string, number>();
  let expected = 1;
  let previous = chainStart.seal;
  let broken = 0;
  for await (const [key, row] of allRows(database, under("c/"))) {
    const record = readCommit(numberOf(key), row);
    if (record?.position !== expected || record.previous !== previous) broken++;
    if (record === undefined) continue;
    expected = record.position + record.count;
    previous = record.seal;
    const seals: string[] = [];
    let isSealed = false;
    for (const { session, from, count } of record.runs) {
      const survey = surveyed(sessions, session);
      const last = from + count - 1;
      survey.known = Math.max(survey.known, last);
      const done = placed.get(session) ?? survey.link?.position ?? 0;
      const end = Math.min(last, survey.kept);
      if (from !== done + 1 || end !== last) broken++;
      isSealed ||= touchesSealed(survey, from, end);
      for (let seq = from; seq <= end; seq++) seals.push(survey.seals.get(seq) ?? "");
      if (end <= done) continue;
      order.push({ session, count: end - done });
      placed.set(session, end);
    }
    // The sums are those of the rows that the batch wrote.
    if (!isSealed && sumOf(seals) !== record.sums) broken++;
  }
  for (const [session, { kept, link }] of sessions) {
    const done = placed.get(session) ?? link?.position ?? 0;
    if (kept <= done) continue;
    broken++;
    order.push({ session, count: kept - done });
  }
  if (broken > 0)
    findings.push(
      `${broken} of the commit records, which order all events, are missing or do not fit`,
    );
  return order;
}

/** Whether some of the events stand in a row that was sealed. */
function touchesSealed({ sealed }: SessionSurvey, from: number, to: number): boolean {
  const before = lowerBound(sealed, from);
  const row = sealed[before];
  return row !== undefined && row.from <= to;
}

/** The index of the first row that does not end before a position. */
function lowerBound(rows: SessionSurvey["sealed"], seq: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.to ?? 0) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where each event with an id stands, by the key of its row. */
export function idPlaces(
  sessions: ReadonlyMap<string, SessionSurvey>,
  order: readonly OrderedRun[],
): Map<string, readonly [seq: number, position: number]> {
  const places = new Map<string, readonly [number, number]>();
  const done = new Map<string, { seq: number; next: number }>();
  let position = 0;
  for (const { session, count } of order) {
    const survey = sessions.get(session);
    const cursor = done.get(session) ?? { seq: survey?.link?.position ?? 0, next: 0 };
    done.set(session, cursor);
    const ids = survey?.ids ?? [];
    for (
      let found = ids[cursor.next];
      found !== undefined && found.seq <= cursor.seq + count;
      found = ids[cursor.next]
    ) {
      places.set(idKey(session, found.id), [found.seq, position + found.seq - cursor.seq]);
      cursor.next++;
    }
    cursor.seq += count;
    position += count;
  }
  return places;
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
    const stored = unseal(key, row, placeSchema);
    if (expected === undefined || stored?.[0] !== expected[0] || stored[1] !== expected[1]) wrong++;
    else places.delete(key);
  }
  wrong += places.size;
  if (wrong > 0) findings.push(`${wrong} rows of event ids are missing or do not fit`);
}
