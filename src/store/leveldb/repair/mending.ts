/**
 * Writes a consistent store into a new database, from what a survey found good. Damaged rows are
 * copied too, under keys that nothing reads.
 */

import {
  CommitBuilder,
  chainStart,
  type ChainMark,
  allRows,
  type Database,
  indexRow,
  checkedMarkRow,
  parseEventKey,
  quarantineKey,
  sessionIn,
  tombstoneKey,
  withChecksum,
  BatchWriter,
} from "../rows/index.ts";
import { writeFormat } from "../files/index.ts";
import type { SessionSurvey } from "./session-survey.ts";
import { idPlaces, type OrderedRun } from "./survey-order.ts";
import type { Survey } from "./survey.ts";

const EVENTS_PER_COMMIT = 512;

export async function mend(
  source: Database,
  target: Database,
  survey: Survey,
  generation: number,
): Promise<ChainMark> {
  await writeFormat(target, generation);
  const writer = new BatchWriter(target);
  await copyRows(source, writer, survey);
  for (const [session, { kept: revision, createdAt, updatedAt, link }] of survey.sessions) {
    if (revision === 0) continue;
    const { key, row } = indexRow(session, { revision, createdAt, updatedAt, link });
    await writer.put(key, row);
  }
  for (const [key, { place }] of idPlaces(survey.sessions, survey.order))
    await writer.put(key, withChecksum(key, place));
  for (const [session, row] of survey.deleted) await writer.put(tombstoneKey(session), row);
  const end = await writeCommits(writer, survey.sessions, survey.order);
  await writer.put(...checkedMarkRow(end));
  await writer.flush();
  return end;
}

/** Copies events, snapshots, positions of consumers, and rows that were set aside before; all others are written anew. */
async function copyRows(source: Database, writer: BatchWriter, survey: Survey): Promise<void> {
  const badSnapshots = new Set(survey.badSnapshots);
  const strays = new Set(survey.strays);
  const lostCursors = new Set(survey.lostCursors);
  for await (const [key, row] of allRows(source, {})) {
    if (key.startsWith("r/")) {
      // A consumer may have the name of a deleted session.
      await writer.put(key, lostCursors.has(key) ? withChecksum(key, 0) : row);
      continue;
    }
    if (survey.deleted.has(sessionIn(key))) continue;
    const place = parseEventKey(key);
    if (place !== undefined) {
      const good = place.position <= (survey.sessions.get(place.session)?.kept ?? 0);
      await writer.put(good ? key : quarantineKey(key), row);
    } else if (strays.has(key)) await writer.put(quarantineKey(key), row);
    else if (key.startsWith("q/")) await writer.put(key, row);
    else if (key.startsWith("n/") && !badSnapshots.has(key)) await writer.put(key, row);
  }
}

/** New records for all kept events. Global positions stay, unless an earlier event is gone. */
async function writeCommits(
  writer: BatchWriter,
  sessions: ReadonlyMap<string, SessionSurvey>,
  order: readonly OrderedRun[],
): Promise<ChainMark> {
  let end = chainStart;
  let builder = new CommitBuilder(1);
  let indexes = new Map<string, number>();
  const finish = async (): Promise<void> => {
    if (builder.count === 0) return;
    const { key, row, mark } = builder.finish(end.checksum);
    await writer.put(key, row);
    end = mark;
    builder = new CommitBuilder(mark.position + 1);
    indexes = new Map();
  };
  for (const { session, from, count } of order) {
    const checksums = sessions.get(session)?.checksums;
    let events = 0;
    for (let position = from; position < from + count; position++) {
      events++;
      const checksum = checksums?.get(position);
      if (checksum === undefined) continue;
      const index = indexes.get(session) ?? builder.enter(session, position - events + 1);
      indexes.set(session, index);
      builder.add(index, events, checksum);
      events = 0;
      if (builder.count >= EVENTS_PER_COMMIT) await finish();
    }
    // A deleted session, or a merged row that covers several runs of the order.
    if (events === 0) continue;
    const index = indexes.get(session) ?? builder.enter(session, from + count - events);
    indexes.set(session, index);
    builder.add(index, events, "");
  }
  await finish();
  return end;
}
