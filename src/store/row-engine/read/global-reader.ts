/** Reads the events of all sessions in global order, by commit record. */

import { decodeRow } from "../../event-rows/index.ts";
import { damagedAt } from "../../log-rules/log-errors.ts";
import {
  type Codec,
  type SessionEvent,
  type GlobalEvent,
  TurnlogError,
  defined,
} from "../../../events/index.ts";
import { commitRows, type PlacedRow } from "../rows/commit-rows.ts";
import { readCommit, type CommitRecord } from "../rows/commit-record.ts";
import { allRows, firstOf, rowAt, type RowStore } from "../rows/row-store.ts";
import { commitDamage, readFailure } from "../rows/failures.ts";
import { readIndex, isDeleted } from "../rows/session-rows.ts";
import { commitKey, eventKey, eventPrefix, numberOf, sessionKey } from "../rows/keys.ts";

/** @throws TurnlogError `LOG_DAMAGED` and what the codec throws */
export async function* readGlobal(
  database: RowStore,
  codec: Codec,
  from: number,
  to: number,
): AsyncGenerator<GlobalEvent> {
  let ahead: Promise<PlacedRow[]> | undefined;
  // A record that has been merged since may repeat events that were already read.
  let next = from;
  const read = new RowReader(codec, to);
  const deleted = new Set<string>();
  try {
    for await (const record of commits(database, from, to)) {
      const rows = ahead;
      ahead = commitRows(database, record, deleted);
      // The loop reports the error; if nothing awaits it, reading has ended.
      ahead.catch(() => undefined);
      if (rows === undefined) continue;
      for (const row of await rows) {
        yield* read.events(row, next);
        next = Math.max(next, row.globalPosition + row.to - row.from + 1);
      }
    }
    if (ahead !== undefined) for (const row of await ahead) yield* read.events(row, next);
  } finally {
    await ahead?.catch(() => undefined);
  }
}

/** Decodes rows of which a commit may need only a part: a merged row of interleaved sessions. */
class RowReader {
  readonly #codec: Codec;
  readonly #end: number;
  readonly #last = new Map<string, { readonly row: string; readonly events: SessionEvent[] }>();

  constructor(codec: Codec, end: number) {
    this.#codec = codec;
    this.#end = end;
  }

  *events({ globalPosition, session, from, to, position, row }: PlacedRow, next: number) {
    if (globalPosition + to - from < next) return;
    let last = this.#last.get(session);
    if (last?.row !== row) {
      try {
        last = { row, events: decodeRow(this.#codec, row, { session, position }) };
      } catch (error) {
        throw withGlobalPosition(error, globalPosition - from);
      }
    }
    if (to < position) this.#last.set(session, last);
    else this.#last.delete(session);
    for (const event of last.events) {
      const place = globalPosition + event.position - from;
      if (event.position >= from && event.position <= to && place >= next && place <= this.#end)
        yield { position: place, session, event };
    }
  }
}

/** Adds the event's global position to a failure, so that a reader can continue behind it. */
function withGlobalPosition(error: unknown, offset: number): unknown {
  if (!TurnlogError.isInstance(error) || error.position === undefined) return error;
  const { code, message, session, position, cause } = error;
  const details = { ...error.details, globalPosition: position + offset };
  return new TurnlogError(code, message, defined({ position, details, cause, session }));
}

/** The commit records of a span of global positions, each checked against the one before. */
export async function* commits(
  database: RowStore,
  from: number,
  to: number,
): AsyncGenerator<CommitRecord> {
  if (from > to) return;
  let expected = 1;
  let before: CommitRecord | undefined;
  try {
    const start = await recordBefore(database, from);
    if (start !== undefined) expected = start.position;
    for await (const [key, row] of allRows(database, {
      gte: commitKey(expected),
      lte: commitKey(to),
    })) {
      const record = recordOf(key, row, expected);
      if (record.position !== expected) throw await gap(database, expected, record);
      if (before !== undefined && record.previous !== before.checksum) {
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
  // The last records may have been merged since this reading began, into one that begins earlier.
  const last = expected <= to ? await recordBefore(database, expected) : undefined;
  if (last !== undefined && last.position + last.count > expected) {
    expected = last.position + last.count;
    yield last;
  }
  if (expected <= to)
    throw commitDamage(expected, `the commit records end before global position ${expected}`);
}

async function recordBefore(
  database: RowStore,
  position: number,
): Promise<CommitRecord | undefined> {
  const found = await firstOf(database, {
    gte: commitKey(0),
    lte: commitKey(position),
    reverse: true,
  });
  return found === undefined ? undefined : recordOf(found[0], found[1], position);
}

/** @throws TurnlogError `LOG_DAMAGED` */
function recordOf(key: string, row: string, expected: number): CommitRecord {
  const record = readCommit(numberOf(key), row);
  if (record === undefined)
    throw commitDamage(expected, `the commit record at global position ${expected} is altered`);
  return record;
}

/** The error for missing commits. It names a lost event where one is known. */
async function gap(
  database: RowStore,
  expected: number,
  next: CommitRecord,
): Promise<TurnlogError> {
  const why = `global positions ${expected} to ${next.position - 1} are missing`;
  for (const { session, from } of next.ranges) {
    if (await isDeleted(database, session)) continue;
    const last = await firstOf(database, {
      gte: eventPrefix(session),
      lt: eventKey(session, from),
      reverse: true,
    });
    const index = last === undefined ? await rowAt(database, sessionKey(session)) : undefined;
    const link = index === undefined ? undefined : readIndex(session, index)?.link;
    const end = last === undefined ? (link?.position ?? 0) : numberOf(last[0]);
    if (end < from - 1) return damagedAt(session, end + 1, why);
  }
  return commitDamage(expected, why);
}
