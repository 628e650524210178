/** Reads the events of all sessions in global order, by commit record. */

import type { Codec } from "../codec.ts";
import type { GlobalEvent } from "../event-log.ts";
import type { TurnlogError } from "../errors.ts";
import { commitRows, type PlacedRow } from "./commit-rows.ts";
import { readCommit, type CommitRecord } from "./commit-record.ts";
import { allRows, firstOf, rowAt, type Database } from "./database.ts";
import { decodeRow } from "./event-row.ts";
import { commitDamage, damagedAt, readFailure } from "./failures.ts";
import { readIndex } from "./index-row.ts";
import { commitKey, eventKey, eventPrefix, numberOf, sessionKey } from "./keys.ts";

/** @throws TurnlogError `LOG_DAMAGED` and what the codec throws */
export async function* readGlobal(
  database: Database,
  codec: Codec,
  from: number,
  to: number,
): AsyncGenerator<GlobalEvent> {
  let ahead: Promise<PlacedRow[]> | undefined;
  try {
    for await (const record of commits(database, from, to)) {
      const rows = ahead;
      ahead = commitRows(database, record);
      // Whoever awaits it is told; when nobody does, reading has ended.
      ahead.catch(() => undefined);
      if (rows !== undefined) yield* decoded(await rows, codec, from);
    }
    if (ahead !== undefined) yield* decoded(await ahead, codec, from);
  } finally {
    await ahead?.catch(() => undefined);
  }
}

function* decoded(rows: readonly PlacedRow[], codec: Codec, from: number): Generator<GlobalEvent> {
  for (const { position, session, seq, row } of rows) {
    if (position < from) continue;
    for (const event of decodeRow(codec, row, { session, seq })) {
      const place = position - seq + event.seq;
      if (place >= from) yield { position: place, session, event };
    }
  }
}

/** The commit records that hold a span of global positions, each checked against the one before. */
export async function* commits(
  database: Database,
  from: number,
  to: number,
): AsyncGenerator<CommitRecord> {
  if (from > to) return;
  let expected = 1;
  let before: CommitRecord | undefined;
  try {
    const start = await firstOf(
      database.keys({ gte: commitKey(0), lte: commitKey(from), reverse: true, limit: 1 }),
    );
    if (start !== undefined) expected = numberOf(start);
    for await (const [key, row] of allRows(database, {
      gte: start ?? commitKey(from),
      lte: commitKey(to),
    })) {
      const record = readCommit(numberOf(key), row);
      if (record === undefined)
        throw commitDamage(expected, `the commit record at global position ${expected} is altered`);
      if (record.position !== expected) throw await gap(database, expected, record);
      if (before !== undefined && record.previous !== before.seal) {
        throw commitDamage(
          expected,
          `the commit record at global position ${expected} does not follow the one before it`,
        );
      }
      before = record;
      expected += record.count;
      yield record;
    }
  } catch (error) {
    throw readFailure(error, "global order", expected);
  }
  if (expected <= to)
    throw commitDamage(expected, `the commit records end before global position ${expected}`);
}

/** Commits are missing before this one: names an event that went with them, where one can be named. */
async function gap(
  database: Database,
  expected: number,
  next: CommitRecord,
): Promise<TurnlogError> {
  const why = `global positions ${expected} to ${next.position - 1} are missing`;
  for (const { session, from } of next.runs) {
    const last = await firstOf(
      database.keys({
        gte: eventPrefix(session),
        lt: eventKey(session, from),
        reverse: true,
        limit: 1,
      }),
    );
    const index = last === undefined ? await rowAt(database, sessionKey(session)) : undefined;
    const link = index === undefined ? undefined : readIndex(session, index)?.link;
    const end = last === undefined ? (link?.position ?? 0) : numberOf(last);
    if (end < from - 1) return damagedAt(session, end + 1, why);
  }
  return commitDamage(expected, why);
}
