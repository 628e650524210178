/**
 * Reads single events of a session that lie apart, all at once: a scan for each costs twenty times as
 * much. What does not come so (it stands in a run, or cannot be read) is read as any span is, which
 * says what is wrong.
 */

import type { SessionEvent } from "../catalogue.ts";
import type { Codec } from "../codec.ts";
import { TurnlogError } from "../errors.ts";
import { decodeRow } from "./event-row.ts";
import { readFailure } from "./failures.ts";
import type { Head } from "./head.ts";
import { eventKey } from "./keys.ts";
import { readShared, type SharedSource } from "./shared-reader.ts";

/** Where an event is stored. */
interface Place {
  readonly owner: string;
  readonly seq: number;
}

/**
 * The events at positions, in their order; none where there is none.
 * @throws TurnlogError as `readShared`
 */
export async function readPositions(
  source: SharedSource,
  head: Head,
  positions: readonly number[],
): Promise<readonly SessionEvent[]> {
  const { session, committed } = head;
  const written = positions.filter((seq) => seq >= 1 && seq <= committed);
  if (written.length === 0) return [];
  const places = await placesOf(source, head, written);
  let rows: readonly (string | undefined)[];
  try {
    rows = await source.database.getMany(places.map(({ owner, seq }) => eventKey(owner, seq)));
  } catch (error) {
    throw readFailure(error, session, written[0] ?? 1);
  }
  const events: SessionEvent[] = [];
  for (const [index, place] of places.entries()) {
    const event = eventIn(source.codec, rows[index], place);
    if (event !== undefined) events.push(event);
    else {
      const span = { from: place.seq, to: place.seq, backwards: false };
      for await (const read of readShared(source, head, span)) events.push(read);
    }
  }
  return events;
}

async function placesOf(
  { lineage }: SharedSource,
  { session, link }: Head,
  positions: readonly number[],
): Promise<readonly Place[]> {
  // Most sessions are no forks, and own all that they have.
  if (link === undefined) return positions.map((seq) => ({ owner: session, seq }));
  const first = Math.min(...positions);
  const owners = new Map<number, string>();
  for await (const { owner, from, to } of lineage.of(session, link)) {
    for (const seq of positions) if (from <= seq && seq <= to) owners.set(seq, owner);
    if (from <= first) break;
  }
  return positions.map((seq) => ({ owner: owners.get(seq) ?? session, seq }));
}

/** The event of a row, the last where it is a run; undefined where it cannot be read. */
function eventIn(codec: Codec, row: string | undefined, place: Place): SessionEvent | undefined {
  if (row === undefined) return undefined;
  try {
    return decodeRow(codec, row, { session: place.owner, seq: place.seq }).at(-1);
  } catch (error) {
    // Read once more, it is told under the name that was asked for.
    if (TurnlogError.isInstance(error)) return undefined;
    throw error;
  }
}
