/** Reads a session by position, wherever its events are stored, up to the last written one. */

import {
  type SessionEvent,
  TurnlogError,
  type ReadRange,
  type Codec,
  type ForkPoint,
} from "../../../events/index.ts";
import { OneByOne } from "../../../shared/index.ts";
import { decodeRow, LONGEST_RUN } from "../../event-rows/index.ts";
import { deletedError, sharedDamage } from "../../log-rules/log-errors.ts";
import { spanOf, dueEvents, missingEvent } from "../../log-rules/reading-rules.ts";
import type { Heads, Head } from "../heads/heads.ts";
import { ownFrom, type Lineage, type OwnedRange } from "../heads/lineage.ts";
import type { RowStore, Scan } from "../rows/row-store.ts";
import { readFailure } from "../rows/failures.ts";
import { eventKey, numberOf } from "../rows/keys.ts";
import { isDeleted } from "../rows/session-rows.ts";

export interface ReadingOptions {
  readonly source: SharedSource;
  readonly heads: Heads;
}

export class Reading {
  readonly #options: ReadingOptions;

  constructor(options: ReadingOptions) {
    this.#options = options;
  }

  /** @throws TurnlogError as `EventLog.read` */
  read(session: string, range: ReadRange): AsyncIterableIterator<SessionEvent> {
    return new OneByOne(this.#rows(session, range));
  }

  async *#rows(session: string, range: ReadRange): AsyncGenerator<readonly SessionEvent[]> {
    const { source, heads } = this.#options;
    try {
      const head = await heads.load(session);
      yield* readShared(source, head, spanOf(range, head.committed));
    } catch (error) {
      throw await this.#reason(session, error);
    }
  }

  /** @throws TurnlogError as `EventLog.readAt` */
  async readAt(session: string, positions: readonly number[]): Promise<readonly SessionEvent[]> {
    const { source, heads } = this.#options;
    try {
      return await readPositions(source, await heads.load(session), positions);
    } catch (error) {
      throw await this.#reason(session, error);
    }
  }

  /** Replaces apparent damage by `SESSION_DELETED` if the session has been deleted in the meantime. */
  async #reason(session: string, error: unknown): Promise<unknown> {
    const isDamage = TurnlogError.isInstance(error) && error.code === "LOG_DAMAGED";
    if (!isDamage || error.details["owner"] !== undefined) return error;
    const { database } = this.#options.source;
    return (await isDeleted(database, session)) ? deletedError(session) : error;
  }
}

// Reads scattered events of a session together: a scan for each costs twenty times as much. An event that
// cannot be read this way (inside a run, or damaged) is read as a span, which reports the damage.

interface OwnedPosition {
  readonly owner: string;
  readonly position: number;
}

/** In their order; positions without an event are left out. @throws TurnlogError as `readShared` */
async function readPositions(
  source: SharedSource,
  head: Head,
  positions: readonly number[],
): Promise<readonly SessionEvent[]> {
  const { session, committed } = head;
  const written = positions.filter((position) => position >= 1 && position <= committed);
  if (written.length === 0) return [];
  const owned = await ownersOf(source, head, written);
  const fetched = pagesOf(owned).map((page) => fetch(source.database, page));
  const events: SessionEvent[] = [];
  for (const fetching of fetched) {
    const { owned: page, rows, error } = await fetching;
    if (rows === undefined) throw readFailure(error, session, page[0]?.position ?? 1);
    for (const [index, at] of page.entries()) {
      const event = eventIn(source.codec, rows[index], at);
      if (event !== undefined) events.push(event);
      else {
        const span = { from: at.position, to: at.position, backwards: false };
        for await (const read of readShared(source, head, span)) events.push(...read);
      }
    }
  }
  return events;
}

/** While the events of a page are decoded, the database's threads fetch the next page. */
const PAGE = 64;

function pagesOf(owned: readonly OwnedPosition[]): readonly (readonly OwnedPosition[])[] {
  const count = Math.ceil(owned.length / PAGE);
  return Array.from({ length: count }, (_, page) => owned.slice(page * PAGE, (page + 1) * PAGE));
}

interface Page {
  readonly owned: readonly OwnedPosition[];
  readonly rows?: readonly (string | undefined)[];
  readonly error?: unknown;
}

/** Never rejects: its caller may have stopped waiting. */
function fetch(database: RowStore, owned: readonly OwnedPosition[]): Promise<Page> {
  return database.getMany(owned.map(({ owner, position }) => eventKey(owner, position))).then(
    (rows) => ({ owned, rows }),
    (error: unknown) => ({ owned, error }),
  );
}

async function ownersOf(
  { lineage }: SharedSource,
  { session, link }: Head,
  positions: readonly number[],
): Promise<readonly OwnedPosition[]> {
  // Most sessions are no forks and own all their events.
  if (link === undefined) return positions.map((position) => ({ owner: session, position }));
  const first = Math.min(...positions);
  const owners = new Map<number, string>();
  for await (const { owner, from, to } of lineage.of(session, link)) {
    for (const position of positions)
      if (from <= position && position <= to) owners.set(position, owner);
    if (from <= first) break;
  }
  return positions.map((position) => ({ owner: owners.get(position) ?? session, position }));
}

/** The event of a row, the last one of a run; undefined if it cannot be read. */
function eventIn(
  codec: Codec,
  row: string | undefined,
  at: OwnedPosition,
): SessionEvent | undefined {
  if (row === undefined) return undefined;
  try {
    return decodeRow(codec, row, { session: at.owner, position: at.position }).at(-1);
  } catch (error) {
    // The second read reports the error under the requested name.
    if (TurnlogError.isInstance(error)) return undefined;
    throw error;
  }
}

// Reads a span of a session's events: its own, and for a fork those that it shares.

export interface SharedSource {
  readonly database: RowStore;
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
  database: RowStore,
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
  database: RowStore,
  codec: Codec,
  session: string,
  { from, to, backwards }: Span,
): AsyncGenerator<readonly SessionEvent[]> {
  if (from > to) return;
  const step = backwards ? -1 : 1;
  let position = backwards ? to : from;
  const end = (backwards ? from : to) + step;
  const open = (): Scan =>
    database.iterator({
      gte: eventKey(session, from),
      // The last event may be part of a run, whose key has the run's last position.
      lte: eventKey(session, (backwards ? position : to) + LONGEST_RUN - 1),
      reverse: backwards,
      highWaterMarkBytes: CHUNK_BYTES,
    });
  let scan = open();
  let openedAt: number | undefined;
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
      const isBefore = numberOf(chunk.rows[0]?.[0] ?? "0") < position;
      if (backwards && isBefore && openedAt !== position) {
        // Since the last page, rows may have been merged into one that the scan has passed. A gap stays one.
        await scan.close();
        openedAt = position;
        scan = open();
        ahead = undefined;
        continue;
      }
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
