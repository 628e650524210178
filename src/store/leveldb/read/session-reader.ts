/**
 * Reads a span of one session's events in either direction, those of a row at once: waiting for each event by itself
 * takes as long as reading it. Never yields an event past a gap.
 */

import { LONGEST_RUN, decodeRow } from "../../event-rows/index.ts";
import { damagedAt } from "../../log-rules/log-errors.ts";
import type { SessionEvent, Codec, TurnlogError } from "../../../events/index.ts";
import type { Database } from "../rows/database.ts";
import { readFailure } from "../rows/failures.ts";
import { eventKey, numberOf } from "../rows/keys.ts";

/** Written positions, both ends included. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly backwards: boolean;
}

const CHUNK = 1000;
const CHUNK_BYTES = 1024 * 1024;

type Chunk = { readonly rows: readonly [string, string][] } | { readonly error: unknown };

/** @throws TurnlogError `LOG_DAMAGED` and what the codec throws */
export async function* readSpan(
  database: Database,
  codec: Codec,
  session: string,
  { from, to, backwards }: Span,
): AsyncGenerator<readonly SessionEvent[]> {
  if (from > to) return;
  const step = backwards ? -1 : 1;
  let position = backwards ? to : from;
  const end = (backwards ? from : to) + step;
  const scan = database.iterator({
    gte: eventKey(session, from),
    // The last event may be part of a run, whose key has the run's last position.
    lte: eventKey(session, to + LONGEST_RUN - 1),
    reverse: backwards,
    highWaterMarkBytes: CHUNK_BYTES,
  });
  const remaining = (): number => step * (end - position);
  const fetch = (): Promise<Chunk> =>
    scan.nextv(Math.min(CHUNK, remaining())).then(
      (rows) => ({ rows }),
      (error: unknown) => ({ error }),
    );
  let ahead: Promise<Chunk> | undefined;
  try {
    while (position !== end) {
      const chunk = await (ahead ?? fetch());
      if ("error" in chunk) throw readFailure(chunk.error, session, position);
      if (chunk.rows.length === 0) throw missing(session, position);
      // Each row holds at least one event: with this many rows, no further page is needed.
      ahead = chunk.rows.length < remaining() ? fetch() : undefined;
      for (const [key, row] of chunk.rows) {
        const last = numberOf(key);
        const events = decodeRow(codec, row, { session, position: last });
        const first = last - events.length + 1;
        if (backwards ? last < position : first > position) throw missing(session, position);
        const [low, high] = backwards
          ? [Math.max(first, end + 1), position]
          : [position, Math.min(last, end - 1)];
        if (low > high) continue;
        const due = events.slice(low - first, high - first + 1);
        position += step * due.length;
        yield backwards ? due.toReversed() : due;
        if (position === end) break;
      }
    }
  } finally {
    await scan.close();
  }
}

function missing(session: string, position: number): TurnlogError {
  return damagedAt(
    session,
    position,
    "the event is missing, though the session's index row counts it",
  );
}
