/** How stored rows become the events that a reader wants, in any engine: nothing behind a gap is read. Pure. */

import {
  checksum,
  CHECKSUM_LENGTH,
  isIntact,
  type TurnlogError,
  type Codec,
  type ReadRange,
  type RowKey,
  type SessionEvent,
} from "../../events/index.ts";
import { decodeRow, encodedRows, eventsIn, type EventRow } from "../event-rows/index.ts";
import { damagedAt } from "./log-errors.ts";

/** The positions that a range has in a session, both included: none if `from` is above `to`. */
export function spanOf(
  { from = 1, to = Infinity, backwards = false, limit = Infinity }: ReadRange,
  revision: number,
): { readonly from: number; readonly to: number; readonly backwards: boolean } {
  const first = Math.max(from, 1);
  const last = Math.min(to, revision);
  return backwards
    ? { from: Math.max(first, last - limit + 1), to: last, backwards }
    : { from: first, to: Math.min(last, first + limit - 1), backwards };
}

/**
 * What a reader at `next` gets of the events of a row, up to `end` in its direction.
 * @param events - Of the row that should contain `next`; none if there is no such row.
 * @throws TurnlogError `LOG_DAMAGED` if it does not
 */
export function dueEvents(
  session: string,
  events: readonly SessionEvent[],
  next: number,
  end: number,
): readonly SessionEvent[] {
  const first = events[0]?.position ?? Infinity;
  const index = next - first;
  if (index < 0 || index >= events.length) throw missingEvent(session, next);
  if (end < next) return events.slice(Math.max(0, end - first), index + 1).toReversed();
  return index === 0 && end >= first + events.length - 1
    ? events
    : events.slice(index, end - first + 1);
}

/** `LOG_DAMAGED`: there is a gap. */
export function missingEvent(session: string, position: number): TurnlogError {
  const why = "the event is missing, though the session's entry counts it";
  return damagedAt(session, position, why);
}

/**
 * The rows of a fork that gets its own copies of shared events, from one row of the session that stores them: the
 * same row, or the events between `next` and `to` of a run that continues behind them.
 * @throws TurnlogError `LOG_DAMAGED` if the row is altered, or not the one with `next`
 */
export function copiedRows(
  codec: Codec,
  key: RowKey,
  row: string,
  fork: string,
  next: number,
  to: number,
): readonly Pick<EventRow, "position" | "row">[] {
  const { session, position } = key;
  const first = position - eventsIn(row) + 1;
  if (!isIntact(row, key)) throw damagedAt(session, next, "the event is altered");
  if (first > next || position < next) throw missingEvent(session, next);
  if (first < next || position > to)
    return encodedRows(
      codec,
      fork,
      next - 1,
      dueEvents(session, decodeRow(codec, row, key), next, to),
    );
  const json = row.slice(CHECKSUM_LENGTH);
  return [{ position, row: checksum(json, { session: fork, position }) + json }];
}
