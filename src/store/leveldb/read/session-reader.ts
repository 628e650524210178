/** Reads a span of one session's events in either direction, and never yields past a gap. */

import type { SessionEvent, Codec, TurnlogError } from "../../../events/index.ts";
import {
  type Database,
  LONGEST_RUN,
  decodeRow,
  damagedAt,
  readFailure,
  eventKey,
  numberOf,
} from "../rows/index.ts";

/** Positions, both included; all of them are known to be written. */
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
): AsyncGenerator<SessionEvent> {
  if (from > to) return;
  const step = backwards ? -1 : 1;
  let seq = backwards ? to : from;
  const end = (backwards ? from : to) + step;
  const scan = database.iterator({
    gte: eventKey(session, from),
    // The last event may stand in a run of deltas, whose key is that of the run's end.
    lte: eventKey(session, to + LONGEST_RUN - 1),
    reverse: backwards,
    highWaterMarkBytes: CHUNK_BYTES,
  });
  const remaining = (): number => step * (end - seq);
  const fetch = (): Promise<Chunk> =>
    scan.nextv(Math.min(CHUNK, remaining())).then(
      (rows) => ({ rows }),
      (error: unknown) => ({ error }),
    );
  let ahead: Promise<Chunk> | undefined;
  try {
    while (seq !== end) {
      const chunk = await (ahead ?? fetch());
      if ("error" in chunk) throw readFailure(chunk.error, session, seq);
      if (chunk.rows.length === 0) throw missing(session, seq);
      // Each row holds an event at least: where there are as many, no more may be needed.
      ahead = chunk.rows.length < remaining() ? fetch() : undefined;
      for (const [key, row] of chunk.rows) {
        const last = numberOf(key);
        const events = decodeRow(codec, row, { session, seq: last });
        const first = last - events.length + 1;
        if (backwards ? last < seq : first > seq) throw missing(session, seq);
        for (; seq !== end && seq >= first && seq <= last; seq += step) {
          const event = events[seq - first];
          if (event !== undefined) yield event;
        }
        if (seq === end) break;
      }
    }
  } finally {
    await scan.close();
  }
}

function missing(session: string, seq: number): TurnlogError {
  return damagedAt(session, seq, "the event is missing, though the session's index row counts it");
}
