/** The rows of a log: found by position, and joined as the server joins them. Pure. */

import type { SessionEvent } from "../../../src/public/events.ts";
import { deltaText, withText } from "../../../src/server/studio/shortened.ts";
import type { Row } from "./types.ts";

/** The index of the row with a position, or of the last one before it; -1 before the first. */
export function indexAt(rows: readonly Row[], position: number): number {
  let [low, high] = [0, rows.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row !== undefined && row.event.position <= position) low = middle + 1;
    else high = middle - 1;
  }
  return high;
}

/** The row with one more delta of its block; undefined if the event belongs to a row of its own. */
export function joined(row: Row | undefined, event: SessionEvent): Row | undefined {
  if (row === undefined || row.event.type !== event.type) return undefined;
  const [before, added] = [deltaText(row.event), deltaText(event)];
  if (before === undefined || added === undefined) return undefined;
  if ("providerMetadata" in event.data || "providerMetadata" in row.event.data) return undefined;
  if (!("id" in row.event.data && "id" in event.data && row.event.data.id === event.data.id))
    return undefined;
  return {
    event: withText(row.event, before + added),
    last: {
      position: event.position,
      time: event.time,
      lengths: [...(row.last?.lengths ?? [before.length]), added.length],
    },
  };
}

/** The event of a row with its text up to a position within it. */
export function cutAt({ event, last }: Row, position: number): SessionEvent {
  const text = deltaText(event);
  if (last === undefined || text === undefined || position >= last.position) return event;
  const deltas = last.lengths.slice(0, position - event.position + 1);
  return withText(
    event,
    text.slice(
      0,
      deltas.reduce((sum, length) => sum + length, 0),
    ),
  );
}
