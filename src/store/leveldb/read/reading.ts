/** Reads a session by position, wherever its events are stored, up to the last written one. */

import { spanOf } from "../../log-rules/reading-rules.ts";
import { deletedError } from "../../log-rules/log-errors.ts";
import {
  type SessionEvent,
  TurnlogError,
  type ReadRange,
  type Codec,
} from "../../../events/index.ts";
import { OneByOne } from "../../../shared/index.ts";
import { isDeleted } from "../rows/session-rows.ts";
import type { Heads } from "../heads/heads.ts";
import { readShared, type SharedSource } from "./shared-reader.ts";
import { decodeRow } from "../../event-rows/index.ts";
import type { Database } from "../rows/database.ts";
import { readFailure } from "../rows/failures.ts";
import { eventKey } from "../rows/keys.ts";
import type { Head } from "../heads/head.ts";

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
function fetch(database: Database, owned: readonly OwnedPosition[]): Promise<Page> {
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
