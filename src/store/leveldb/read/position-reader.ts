/**
 * Reads scattered events of a session together: a scan for each costs twenty times as much. An event that
 * cannot be read this way (inside a run, or damaged) is read as a span, which reports the damage.
 */

import { type SessionEvent, type Codec, TurnlogError } from "../../../events/index.ts";
import { type Database, decodeRow, readFailure, eventKey } from "../rows/index.ts";
import type { Head } from "../heads/index.ts";
import { readShared, type SharedSource } from "./shared-reader.ts";

interface Place {
  readonly owner: string;
  readonly position: number;
}

/** In their order; positions without an event are left out. @throws TurnlogError as `readShared` */
export async function readPositions(
  source: SharedSource,
  head: Head,
  positions: readonly number[],
): Promise<readonly SessionEvent[]> {
  const { session, committed } = head;
  const written = positions.filter((position) => position >= 1 && position <= committed);
  if (written.length === 0) return [];
  const places = await placesOf(source, head, written);
  const fetched = pagesOf(places).map((page) => fetch(source.database, page));
  const events: SessionEvent[] = [];
  for (const fetching of fetched) {
    const { places: page, rows, error } = await fetching;
    if (rows === undefined) throw readFailure(error, session, page[0]?.position ?? 1);
    for (const [index, place] of page.entries()) {
      const event = eventIn(source.codec, rows[index], place);
      if (event !== undefined) events.push(event);
      else {
        const span = { from: place.position, to: place.position, backwards: false };
        for await (const read of readShared(source, head, span)) events.push(read);
      }
    }
  }
  return events;
}

/** While the events of a page are decoded, the database's threads fetch the next page. */
const PAGE = 64;

function pagesOf(places: readonly Place[]): readonly (readonly Place[])[] {
  const count = Math.ceil(places.length / PAGE);
  return Array.from({ length: count }, (_, page) => places.slice(page * PAGE, (page + 1) * PAGE));
}

interface Page {
  readonly places: readonly Place[];
  readonly rows?: readonly (string | undefined)[];
  readonly error?: unknown;
}

/** Never rejects: its caller may have stopped waiting. */
function fetch(database: Database, places: readonly Place[]): Promise<Page> {
  return database.getMany(places.map(({ owner, position }) => eventKey(owner, position))).then(
    (rows) => ({ places, rows }),
    (error: unknown) => ({ places, error }),
  );
}

async function placesOf(
  { lineage }: SharedSource,
  { session, link }: Head,
  positions: readonly number[],
): Promise<readonly Place[]> {
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
function eventIn(codec: Codec, row: string | undefined, place: Place): SessionEvent | undefined {
  if (row === undefined) return undefined;
  try {
    return decodeRow(codec, row, { session: place.owner, position: place.position }).at(-1);
  } catch (error) {
    // The second read reports the error under the requested name.
    if (TurnlogError.isInstance(error)) return undefined;
    throw error;
  }
}
