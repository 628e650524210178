/** Reads a span of one session's events in either direction, and never yields past a gap. */

import type { SessionEvent } from "../catalogue.ts";
import type { Codec } from "../codec.ts";
import { TurnlogError } from "../errors.ts";
import { rowAt, type Database } from "./database.ts";
import { damagedAt, readFailure } from "./failures.ts";
import { eventKey } from "./keys.ts";

/** Positions, both included; all of them are known to be written. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly backwards: boolean;
}

const CHUNK = 1000;
const CHUNK_BYTES = 1024 * 1024;

type Chunk = { readonly rows: readonly string[] } | { readonly error: unknown };

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
  // Keys are not fetched: a row's checksum covers its position.
  const scan = database.values({
    gte: eventKey(session, from),
    lte: eventKey(session, to),
    reverse: backwards,
    highWaterMarkBytes: CHUNK_BYTES,
  });
  const fetch = (): Promise<Chunk> =>
    scan.nextv(CHUNK).then(
      (rows) => ({ rows }),
      (error: unknown) => ({ error }),
    );
  try {
    let ahead = fetch();
    while (seq !== end) {
      const chunk = await ahead;
      if ("error" in chunk) throw readFailure(chunk.error, session, seq);
      if (chunk.rows.length === 0) {
        throw damagedAt(
          session,
          seq,
          "the event is missing, though the session's index row counts it",
        );
      }
      if (seq + step * chunk.rows.length !== end) ahead = fetch();
      for (const row of chunk.rows) {
        yield decode(database, codec, session, seq, row);
        seq += step;
      }
    }
  } finally {
    await scan.close();
  }
}

function decode(
  database: Database,
  codec: Codec,
  session: string,
  seq: number,
  row: string,
): SessionEvent | Promise<never> {
  try {
    return codec.decode(row, { session, seq });
  } catch (error) {
    return explain(database, session, seq, error);
  }
}

/** A row that does not fit where it was found is altered, or it is the next one after a gap. */
async function explain(
  database: Database,
  session: string,
  seq: number,
  error: unknown,
): Promise<never> {
  if (TurnlogError.isInstance(error) && error.code === "LOG_DAMAGED") {
    const row = await rowAt(database, eventKey(session, seq));
    if (row === undefined) throw damagedAt(session, seq, "the event is missing");
  }
  throw error;
}
