/**
 * Reads a whole store and finds what is good: each session's events before the first gap or bad
 * row, and the global order in its commit records. Changes nothing.
 */

import { envelopesIn, isMergedRow } from "../../event-rows/index.ts";
import { isDeepStrictEqual } from "node:util";
import { lastChecked, snapshotIn } from "../read/index.ts";
import {
  allRows,
  type Database,
  readIndex,
  parseEventKey,
  under,
  checksumOf,
  SinceMark,
  readTombstone,
  sessionIn,
  rowContent,
} from "../rows/index.ts";
import { dropOrphans, linkOf, surveyOf, type SessionSurvey } from "./session-survey.ts";
import { ownFrom } from "../heads/index.ts";
import { surveyIds, surveyOrder, type OrderedRun } from "./survey-order.ts";

export interface Survey {
  readonly sessions: Map<string, SessionSurvey>;
  /** The global order of all kept events, as far as it is known; the others by session. */
  readonly order: readonly OrderedRun[];
  /** Tombstones of deleted sessions, by session. */
  readonly deleted: ReadonlyMap<string, string>;
  /** What is wrong, one sentence each. Empty: the store is good. */
  readonly findings: readonly string[];
  /** Keys of rows without a meaning, and of rows that can be dropped. */
  readonly strays: readonly string[];
  readonly badSnapshots: readonly string[];
  /** Consumers whose stored positions no longer hold: their rows are altered, or the global order is another. */
  readonly lostCursors: readonly string[];
}

const PREFIXES = ["c/", "d/", "e/", "i/", "m/", "n/", "q/", "r/", "s/", "x/"];

export async function surveyStore(database: Database): Promise<Survey> {
  const sessions = new Map<string, SessionSurvey>();
  const findings: string[] = [];
  const strays: string[] = [];
  const badSnapshots: string[] = [];
  const deleted = await surveyDeleted(database, strays);
  await surveyEvents(database, sessions, strays);
  dropDeleted(sessions, deleted, findings);
  dropOrphans(sessions, findings);
  await surveyIndex(database, sessions, deleted, findings);
  const since = new SinceMark((await lastChecked(database)).position);
  const { order, broken } = await surveyOrder(database, sessions, deleted, since);
  compareIndex(sessions, since, findings);
  if (broken > 0)
    findings.push(
      `${broken} of the commit records, which order all events, are missing or do not fit`,
    );
  await surveyIds(database, sessions, order, findings);
  await surveySnapshots(database, sessions, badSnapshots);
  const isLess = [...sessions.values()].some(({ kept, known }) => known > kept);
  const lostCursors = await surveyCursors(database, broken > 0 || isLess, findings);
  await surveyStrays(database, strays);
  for (const [session, { kept, known }] of sessions) {
    if (known > kept) findings.push(`${session} is good up to position ${kept} of ${known}`);
  }
  if (strays.length > 0) findings.push(`${strays.length} rows are under keys that nothing has`);
  if (badSnapshots.length > 0) findings.push(`${badSnapshots.length} snapshots cannot be used`);
  return { sessions, order, deleted, findings, strays, badSnapshots, lostCursors };
}

async function surveyEvents(
  database: Database,
  sessions: Map<string, SessionSurvey>,
  strays: string[],
): Promise<void> {
  for await (const [key, row] of allRows(database, under("e/"))) {
    const place = parseEventKey(key);
    if (place === undefined) {
      strays.push(key);
      continue;
    }
    const { session, position } = place;
    const survey = surveyOf(sessions, session);
    const events = envelopesIn(row, place);
    // An altered key may name any session and position: it proves nothing.
    if (events.length > 0) survey.known = Math.max(survey.known, position);
    if (survey.kept === 0 && survey.after === 0 && position > events.length) {
      survey.link = await linkOf(database, place, row);
      survey.kept = survey.link?.position ?? 0;
    }
    if (position !== survey.kept + events.length || survey.after > 0 || events.length === 0) {
      survey.after += Math.max(1, events.length);
      continue;
    }
    survey.checksums.set(position, checksumOf(row));
    if (isMergedRow(row)) survey.merged.push({ from: survey.kept + 1, to: position });
    for (const { time, id } of events) {
      survey.kept++;
      if (survey.kept === ownFrom(survey.link)) survey.createdAt = time;
      survey.updatedAt = time;
      if (id !== undefined) survey.ids.push({ position: survey.kept, id });
    }
  }
}

async function surveyDeleted(
  database: Database,
  strays: string[],
): Promise<ReadonlyMap<string, string>> {
  const deleted = new Map<string, string>();
  for await (const [key, row] of allRows(database, under("d/"))) {
    const session = sessionIn(key);
    if (readTombstone(session, row) === undefined) strays.push(key);
    else deleted.set(session, row);
  }
  return deleted;
}

/** Damage may bring rows of a deleted session back. They are neither kept nor set aside. */
function dropDeleted(
  sessions: Map<string, SessionSurvey>,
  deleted: ReadonlyMap<string, string>,
  findings: string[],
): void {
  for (const session of deleted.keys()) {
    if (sessions.delete(session))
      findings.push(`${session} was deleted, and some of its events are still there`);
  }
}

async function surveyIndex(
  database: Database,
  sessions: Map<string, SessionSurvey>,
  deleted: ReadonlyMap<string, string>,
  findings: string[],
): Promise<void> {
  for await (const [key, row] of allRows(database, under("s/"))) {
    const session = sessionIn(key);
    if (deleted.has(session)) {
      findings.push(`${session} was deleted, and its index row is still there`);
      continue;
    }
    const survey = surveyOf(sessions, session);
    const entry = readIndex(session, row);
    if (entry === undefined) continue;
    survey.known = Math.max(survey.known, entry.revision);
    if (survey.kept === 0) survey.shared = entry.link?.position ?? 0;
    survey.index = entry;
  }
}

/** Rows that are only behind are no finding: opening corrects them. */
function compareIndex(
  sessions: ReadonlyMap<string, SessionSurvey>,
  since: SinceMark,
  findings: string[],
): void {
  for (const [session, { index, kept: revision, createdAt, updatedAt, link }] of sessions) {
    const entry = index && since.caughtUp(session, index, updatedAt);
    if (revision === 0 || !isDeepStrictEqual(entry, { revision, createdAt, updatedAt, link }))
      findings.push(`the index row of ${session} does not fit its events`);
  }
}

async function surveySnapshots(
  database: Database,
  sessions: ReadonlyMap<string, SessionSurvey>,
  bad: string[],
): Promise<void> {
  for await (const [key, row] of allRows(database, under("n/"))) {
    const found = snapshotIn(key, row);
    const kept = found && sessions.get(found.session)?.kept;
    if (found === undefined || found.snapshot.position > (kept ?? 0)) bad.push(key);
  }
}

/** An event that moved in the global order might be behind a consumer that has not seen it. */
async function surveyCursors(
  database: Database,
  isOrderLost: boolean,
  findings: string[],
): Promise<readonly string[]> {
  const lost: string[] = [];
  let altered = 0;
  for await (const [key, row] of allRows(database, under("r/"))) {
    const isAltered = typeof rowContent(key, row) !== "number";
    if (isAltered) altered += 1;
    if (isAltered || isOrderLost) lost.push(key);
  }
  if (altered > 0) findings.push(`${altered} stored positions of consumers are altered`);
  return lost;
}

async function surveyStrays(database: Database, strays: string[]): Promise<void> {
  let from = "";
  for (const prefix of [...PREFIXES, "\u{10ffff}"]) {
    for await (const [key] of allRows(database, { gte: from, lt: prefix })) strays.push(key);
    from = `${prefix.slice(0, -1)}0`;
  }
}
