/** Reads a span of a session's events: its own, and for a fork those that it shares. */

import { sharedDamage } from "../../log-rules/log-errors.ts";
import { dueEvents, missingEvent } from "../../log-rules/reading-rules.ts";
import {
  type SessionEvent,
  type Codec,
  TurnlogError,
  type ForkPoint,
} from "../../../events/index.ts";
import type { Database } from "../rows/database.ts";
import { isDeleted } from "../rows/session-rows.ts";
import type { Head } from "../heads/head.ts";
import { ownFrom, type Lineage, type OwnedRange } from "../heads/lineage.ts";
import { LONGEST_RUN, decodeRow } from "../../event-rows/index.ts";
import { readFailure } from "../rows/failures.ts";
import { eventKey, numberOf } from "../rows/keys.ts";

export interface SharedSource {
  readonly database: Database;
  readonly codec: Codec;
  readonly lineage: Lineage;
}

/** @throws TurnlogError as `readSpan`; for a shared event, with the names of both sessions */
export function readShared(
  source: SharedSource,
  { session, link }: Pick<Head, "session" | "link">,
  span: Span,
): AsyncGenerator<readonly SessionEvent[]> {
  // Most sessions are no forks: one more generator would slow their reads by some percent.
  return span.from >= ownFrom(link)
    ? readSpan(source.database, source.codec, session, span)
    : readLine(source, session, link, span);
}

/** Continues after an ancestor was deleted during the read: its events have then been copied elsewhere. */
async function* readLine(
  source: SharedSource,
  session: string,
  link: ForkPoint | undefined,
  span: Span,
): AsyncGenerator<readonly SessionEvent[]> {
  const deleted = new Set<string>();
  let rest = span;
  let from = link;
  for (;;) {
    try {
      for await (const events of readStretches(source, session, from, rest)) {
        yield events;
        const { position } = events.at(-1) ?? { position: rest.backwards ? rest.to : rest.from };
        rest = rest.backwards ? { ...rest, to: position - 1 } : { ...rest, from: position + 1 };
      }
      return;
    } catch (error) {
      const owner = ownerIn(error);
      if (owner === undefined || deleted.has(owner)) throw error;
      if (!(await isDeleted(source.database, owner))) throw error;
      deleted.add(owner);
      from = await source.lineage.linkOf(session);
    }
  }
}

function ownerIn(error: unknown): string | undefined {
  const owner = TurnlogError.isInstance(error) ? error.details["owner"] : undefined;
  return typeof owner === "string" ? owner : undefined;
}

async function* readStretches(
  { database, codec, lineage }: SharedSource,
  session: string,
  link: ForkPoint | undefined,
  { from, to, backwards }: Span,
): AsyncGenerator<readonly SessionEvent[]> {
  if (from > to) return;
  const ranges = between(lineage.of(session, link, to), from);
  if (backwards) {
    for await (const range of ranges) yield* read(database, codec, session, range, true);
  } else {
    for (const range of (await Array.fromAsync(ranges)).toReversed())
      yield* read(database, codec, session, range, false);
  }
}

async function* between(
  ranges: AsyncIterable<OwnedRange>,
  from: number,
): AsyncGenerator<OwnedRange> {
  for await (const range of ranges) {
    if (range.from <= range.to) yield { ...range, from: Math.max(from, range.from) };
    if (range.from <= from) return;
  }
}

async function* read(
  database: Database,
  codec: Codec,
  session: string,
  { owner, from, to }: OwnedRange,
  backwards: boolean,
): AsyncGenerator<readonly SessionEvent[]> {
  const events = readSpan(database, codec, owner, { from, to, backwards });
  if (owner === session) {
    yield* events;
    return;
  }
  try {
    for await (const several of events) yield several;
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.session !== owner) throw error;
    throw sharedDamage(session, error.position ?? from, owner, error.message, error);
  }
}

// Reads a span of one session's events in either direction, those of a row together: waiting for each single
// event takes as long as reading it. Never yields an event past a gap.

/** Written positions, both ends included. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly backwards: boolean;
}

const CHUNK = 1000;
const CHUNK_BYTES = 1024 * 1024;

type Chunk = { readonly rows: readonly [string, string][] } | { readonly error: unknown };

/** @throws TurnlogError `LOG_DAMAGED` and what the codec throws */
async function* readSpan(
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
      if (chunk.rows.length === 0) throw missingEvent(session, position);
      // Each row holds at least one event: with this many rows, no further page is needed.
      ahead = chunk.rows.length < remaining() ? fetch() : undefined;
      for (const [key, row] of chunk.rows) {
        const last = numberOf(key);
        const events = decodeRow(codec, row, { session, position: last });
        // The scan begins behind the span, where the row with its last event may be.
        if (backwards && last - events.length >= position) continue;
        const due = dueEvents(session, events, position, end - step);
        position += step * due.length;
        yield due;
        if (position === end) break;
      }
    }
  } finally {
    await scan.close();
  }
}
