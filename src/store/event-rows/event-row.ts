/** The row under an event's key: one event, or a run of deltas that ends with it. Only this file knows which. */

import {
  type NewEvent,
  TurnlogError,
  type SessionEvent,
  CHECKSUM_LENGTH,
  intactJson,
  isIntact,
  isStoredFields,
  ownJson,
  plainJson,
  type Codec,
  type RowKey,
  forkPointSchema,
  type ForkPoint,
} from "../../events/index.ts";
import { z } from "zod";
import {
  continues,
  decodeRun,
  encodeRun,
  isPlainDelta,
  isMergedRun,
  LONGEST_RUN,
  runTimes,
  type Delta,
} from "./delta-run.ts";

const linkSchema = z.looseObject({ from: forkPointSchema });

/** Where a row's JSON begins, behind the checksum and the bracket. */
const BODY = CHECKSUM_LENGTH + 1;

/** A row to write, and the events in it. */
export interface EventRow {
  /** The last of its positions, as in its key. */
  readonly position: number;
  readonly events: readonly NewEvent[];
  readonly row: string;
}

/** The number of events in a row, without parsing it. */
export function eventsIn(row: string): number {
  const count = Number.parseInt(row.slice(BODY, BODY + 4), 10);
  return Number.isNaN(count) ? 1 : count;
}

/** Whether a row replaced others that commits had named. */
export function isMergedRow(row: string): boolean {
  return eventsIn(row) > 1 ? isMergedRun(row) : row.endsWith("null,1]") || row.endsWith('",1]');
}

/** One row for several, which hold successive deltas of one block. */
export function mergedRow(session: string, rows: readonly EventRow[]): EventRow | undefined {
  const events = rows.flatMap((row) => row.events.filter(isPlainDelta));
  const [first] = events;
  const position = rows.at(-1)?.position;
  if (first === undefined || position === undefined) return undefined;
  return { position, events, row: encodeRun(events, first, { session, position }, true) };
}

/** The rows that lists of events were read from, with the session and the position before the first. */
const knownRows = new WeakMap<
  readonly NewEvent[],
  { readonly session: string; readonly revision: number; readonly rows: readonly EventRow[] }
>();

/**
 * Reads the rows of events behind `revision`, which were made for a session that is not written yet. Appended as
 * this list, the events need not be made into rows again.
 */
export function eventsOfRows(
  codec: Codec,
  session: string,
  revision: number,
  texts: readonly string[],
): readonly SessionEvent[] {
  let position = revision;
  const all: SessionEvent[] = [];
  const rows = texts.map((row): EventRow => {
    position += eventsIn(row);
    const events = decodeRow(codec, row, { session, position });
    for (const event of events) all.push(event);
    return { position, events, row };
  });
  knownRows.set(all, { session, revision, rows });
  return all;
}

/** The rows of events that are appended to a session behind `revision`. */
export function* eventRows(
  codec: Codec,
  session: string,
  revision: number,
  events: readonly NewEvent[],
): Generator<EventRow> {
  const known = knownRows.get(events);
  if (known?.session === session && known.revision === revision) {
    yield* known.rows;
    return;
  }
  let position = revision;
  for (let from = 0; from < events.length;) {
    const run = runFrom(events, from);
    const [first] = run;
    const event = events[from];
    if (event === undefined) return;
    if (first === undefined || run.length === 1) {
      position++;
      from++;
      const key = { session, position };
      const row = codec.encode(event, key);
      yield { position, events: [event], row };
    } else {
      position += run.length;
      from += run.length;
      yield { position, events: run, row: encodeRun(run, first, { session, position }) };
    }
  }
}

/**
 * The rows of events that are appended to a session behind `revision`.
 * @throws TurnlogError `EVENT_INVALID` for an event that is not JSON
 */
export function encodedRows(
  codec: Codec,
  session: string,
  revision: number,
  events: readonly NewEvent[],
): readonly EventRow[] {
  const rows: EventRow[] = [];
  try {
    for (const row of eventRows(codec, session, revision, events)) rows.push(row);
  } catch (error) {
    const position = (rows.at(-1)?.position ?? revision) + 1;
    throw new TurnlogError(
      "EVENT_INVALID",
      `An event of type ${events[position - revision - 1]?.type} cannot be stored in ${session}: its data is not JSON. Convert it before it is appended.`,
      { session, position, cause: error },
    );
  }
  return rows;
}

/** The deltas from an index on that can share a row; empty if there is no delta. */
function runFrom(events: readonly NewEvent[], from: number): readonly Delta[] {
  const run: Delta[] = [];
  for (let index = from; index < events.length && run.length < LONGEST_RUN; index++) {
    const event = events[index];
    if (event === undefined || !isPlainDelta(event)) break;
    if (run[0] !== undefined && !continues(run[0], event)) break;
    run.push(event);
  }
  return run;
}

/** In order. @throws TurnlogError as `Codec.decode` */
export function decodeRow(codec: Codec, row: string, key: RowKey): SessionEvent[] {
  return eventsIn(row) === 1
    ? [codec.decode(row, key)]
    : decodeRun(intactJson(row, key), key, codec.eventOf);
}

/** The time of a single event whose row ends with its data, so that it has no id: parsing the data would cost more. */
const TIME = /^\["[^"\\]+",\d+,(\d+),/;

/** The times and ids of a row's events, in order; empty if the row is damaged. */
export function envelopesIn(
  row: string,
  key: RowKey,
): readonly { readonly time: number; readonly id?: string | undefined }[] {
  if (!isIntact(row, key)) return [];
  const plain = row.endsWith("}]")
    ? TIME.exec(row.slice(CHECKSUM_LENGTH, CHECKSUM_LENGTH + 100))
    : null;
  if (plain !== null) return [{ time: Number(plain[1]) }];
  const stored = ownJson(row);
  if (!isStoredFields(stored)) return runTimes(stored).map((time) => ({ time }));
  const [, , time, , id] = stored;
  return [{ time, id: id ?? undefined }];
}

/** The link in a fork's first row; undefined for any other row. */
export function firstLink(row: string, key: RowKey): ForkPoint | undefined {
  if (eventsIn(row) !== 1 || !isIntact(row, key)) return undefined;
  const stored = ownJson(row);
  if (!isStoredFields(stored) || stored[0] !== "session.forked") return undefined;
  const link = linkSchema.safeParse(stored[3]).data?.from;
  return link?.position === key.position - 1 ? link : undefined;
}

/** Characters of a row whose event is copied: parsing the row would have its texts twice. */
const LONG = 1024 * 1024;

/** Of a row that this process made, as reading would return them: the JSON of deltas need not be parsed. */
export function queuedEvents(
  codec: Codec,
  session: string,
  { position, row, events }: EventRow,
): readonly SessionEvent[] {
  const [event] = events;
  if (event !== undefined && events.length === 1) {
    const copy = row.length > LONG ? copiedEvent(event, position) : undefined;
    return [copy ?? codec.decodeOwn(row, { session, position })];
  }
  return events.map((event, index) => ({
    ...event,
    position: position - events.length + 1 + index,
  }));
}

/** The event with data of its own; undefined if that is not plain JSON. */
function copiedEvent(event: NewEvent, position: number): SessionEvent | undefined {
  const data = plainJson(event.data);
  if (data === undefined) return undefined;
  const { time, id, type } = event;
  const envelope = id === undefined ? { position, time } : { position, time, id };
  // A copy of the data is data of the same type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...envelope, type, data } as SessionEvent;
}
